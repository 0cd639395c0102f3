"""What a job needs on a cluster, in one folder: ``flinkddl package``."""
