#!/usr/bin/env bash
# Submits job.sql of this package to Spark:
#   ./submit.sh client  MASTER [spark-submit options ..] [-- arguments of `flinkddl run` ..]
#   ./submit.sh cluster MASTER [spark-submit options ..] [-- arguments of `flinkddl run` ..]
# MASTER: local[4], spark://host:7077, yarn, k8s://https://host:6443. Spark is found by SPARK_HOME, else on the PATH.
# Secrets are taken from the environment; README.md beside this file names them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
submit=${SPARK_HOME:+$SPARK_HOME/bin/}spark-submit

usage() { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
[[ $# -ge 2 && ( $1 == client || $1 == cluster ) ]] || usage
mode=$1 master=$2
shift 2
options=(--name "%%{name}" --master "$master" --deploy-mode "$mode" --conf spark.log.level=WARN)
while [[ $# -gt 0 && $1 != -- ]]; do options+=("$1"); shift; done
[[ $# -eq 0 ]] || shift
command -v "$submit" > /dev/null || { echo "no spark-submit: set SPARK_HOME to a Spark %%{spark}" >&2; exit 3; }

jars=$(printf '%s,' "$here"/jars/*.jar)
with_jars=(--jars "${jars%,}")
workers=(%%{workers})

if [[ $mode == client ]]; then
  # The JVM hears no signal: main.py does, lets the running batch end, and the JVM ends with it.
  FLINKDDL_PID_FILE=$(mktemp)
  export FLINKDDL_PID_FILE
  (trap '' INT TERM; exec "$submit" "${options[@]}" "${with_jars[@]}" "${workers[@]}" "$here/main.py" "$@") &
  child=$!
  stop() { if [[ -s $FLINKDDL_PID_FILE ]]; then kill -TERM "$(< "$FLINKDDL_PID_FILE")"; else kill -KILL "$child"; fi; }
  trap stop TERM
  trap : INT # a terminal sends it to main.py as well
  while code=0; wait "$child" || code=$?; kill -0 "$child" 2> /dev/null; do :; done
  rm -f "$FLINKDDL_PID_FILE"
  exit "$code"
fi

case $master in
  spark://*)
    # A worker must reach the jar: FLINKDDL_JOB_JAR names it there (hdfs:, s3a:, https:, or the same path everywhere).
    # It lies in the driver's folder then: Spark's own class for Python programs runs it there, as `python job.jar`.
    jar=${FLINKDDL_JOB_JAR:-$here/job.jar} name=$(basename "${FLINKDDL_JOB_JAR:-job.jar}")
    exec "$submit" "${options[@]}" --class org.apache.spark.deploy.PythonRunner "$jar" "$name" "$name" "$@" ;;
  yarn)
    files=$here/job.sql,$here/arguments.txt,$here/job.env
    for jar in "$here"/functions.txt "$here"/functions/*.jar; do [[ ! -f $jar ]] || files+=,$jar; done
    exec "$submit" "${options[@]}" "${with_jars[@]}" --files "$files" --archives "$here/python.tar.gz#python" \
      "$here/main.py" "$@" ;;
  k8s://*)
    exec "$submit" "${options[@]}" --properties-file "$here/kubernetes/spark.conf" \
      --conf "spark.kubernetes.driver.podTemplateFile=$here/kubernetes/driver.yaml" \
      local:///opt/flinkddl/main.py "$@" ;;
  *)
    echo "'$master' has no cluster mode" >&2; exit 2 ;;
esac
