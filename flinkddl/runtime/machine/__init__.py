"""What this machine lends: Java, jars, a folder for what is kept, threads aside."""
