"""Java functions of Flink: what their class files say, and how a call of one is typed. No JVM is started here."""
