"""What ``flinkddl assess`` says of a folder of scripts: judged one by one, grouped by cause; text, JSON and HTML."""
