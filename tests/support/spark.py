"""How test sessions start: small, and with the quick compiler only, since most queries run for less than a second."""

from __future__ import annotations

SHORT_LIVED = {
    "spark.driver.memory": "2g",
    "spark.default.parallelism": "2",
    # C2 would spend more processor time on optimising than such runs ever get back
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
