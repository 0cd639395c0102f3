"""The text of HELP."""

HELP = """\
Statements end with a semicolon. Among them:

HELP                     this text
QUIT, EXIT               stop the jobs of this session and leave
CLEAR                    clear the screen
\\x                       rows a line a column with whole values, or as a table again (tableau mode)
SET 'key' = 'value'      set a property of the session; SET alone lists them, RESET undoes them
SHOW TABLES              tables and views; also CATALOGS, DATABASES, VIEWS, FUNCTIONS, COLUMNS FROM t, CREATE TABLE t
DESCRIBE t               columns, key and watermark of a table
EXPLAIN ...              the plan of a query or an INSERT: changelog modes, state, Spark steps
CREATE TABLE, VIEW ...   declare what queries read and write
SELECT ...               run a query and show its result as it changes
INSERT INTO ...          start a job in the background; also EXECUTE STATEMENT SET BEGIN ... END
SHOW JOBS                the jobs of this session; finished SELECTs too with 'sql-client.verbose'
DESCRIBE JOB 'id'        one of them, how many records it is behind, and why it failed
STOP JOB 'id'            end it after its running batch; WITH DRAIN closes every window first

'sql-client.execution.result-mode' says how a SELECT is shown:
  table      (default) the rows that are in the result now, on a screen of its own
  changelog  every change with its kind: +I, -U, +U, -D
  tableau    as changelog, printed line by line; finished results as one table

On a result's screen x (or Enter) shows one row with whole values.

Keys: Tab completes, Ctrl-R searches the history, Enter runs what ends with a semicolon, Alt-Enter begins a new line,
Ctrl-C drops what is typed or cancels the query that runs, Ctrl-D leaves."""
