"""Against a real Flink: FLINKDDL_ORACLE names its launcher, or it lies in ../shared/oracle beside the checkout."""
