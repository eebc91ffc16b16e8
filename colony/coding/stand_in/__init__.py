"""A scripted stand-in for a coding agent: it plays a script and has no model.

    python -m colony.coding.stand_in -p --json-schema S --session-id U …  < prompt

It takes the options of Claude Code that Colony passes and prints the same stream of events, so
that what runs and reads it cannot tell the difference but by its name. Commands, files and
processes of a script are real. Two options are its own: `--stand-in-script FILE` (else the
variable COLONY_STAND_IN_SCRIPT) and `--stand-in-home DIR`, where its agent sessions are kept.

A script is a JSON object. `work`, `resume`, `check`, `finalize` and `fix` each hold the list of
actions of such a run; `tickets` holds the same for single tickets (`{"shop#2": {"work": […]}}`).
`resume` (a run that goes on after a pause) falls back to `work`; what no script names does a
small honest job: `work` writes a note and shows it, `check` runs each verified command of the
report again and compares. `cost` is US dollars a turn (0.01), `permission_mode` what is reported.

`account` is the name of an account that its runs use, `login` any text that stands for the login's
material: whoever changes it has logged in anew. `usage` lets it answer the quota call:

    "usage": {"session": 0.42, "week": 0.1, "reset_in": S}

Shares from 0 to 1 of the session's and the week's window, both reset in S seconds (3600; null:
never told). A window that is not named has no row; `cost` is what the call is said to cost (0);
`{"error": TEXT}` lets it fail; null: the rows could not be fetched. Without `usage` the stand-in
tells no quota, like a login that has none.

An action is an object with exactly one of these keys:

    say: TEXT                        the agent's words
    write: PATH, text: TEXT          write a file (relative to the folder it runs in)
    run: COMMAND                     by /bin/sh, to its end; `{output}` is then what it printed
    daemon: COMMAND                  by /bin/sh in a session of its own, left running
    deny: TOOL, detail: TEXT         a tool call that the permissions refuse
    answer: OBJECT                   the structured answer, which ends the run; keys that the
                                     schema requires and the object lacks get a neutral value
    exactly: OBJECT                  the same, but nothing is added
    recheck: true                    the verdict, by running the report's commands again
    quota: {WINDOW: SHARE, …}, reset_in: S, warn: true
                                     how full windows are (`five_hour`, `seven_day`); `warn`: the
                                     account is close to its limit
    limit: WINDOW, reset_in: S       the usage limit, which ends the run; null: no reset is told
    refused: true                    the login is refused, which ends the run
    away: true                       the provider cannot be reached, which ends the run
    error: TEXT, status: N, word: W  an error of the provider, which ends the run
    result: OBJECT, exit: N          a result event with these fields, which ends the run
    exit: N                          end without a result
    event: OBJECT / raw: LINE        print an event, or a line just as it is
    sleep: SECONDS / hang: true      wait, or wait for a signal
    ignore_term: true                from here on SIGTERM does nothing
    when: TEXT, then: […], otherwise: […]   by whether the prompt holds TEXT
    repeat: N, actions: […]

In every text `{ticket}`, `{session}`, `{name}` (`shop-2`), `{cwd}`, `{files}` and `{output}` are
filled in. A list that ends without an answer ends the run with plain words and no answer.
"""
