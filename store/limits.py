"""Every limit of Shoal, as plain constants. Milliseconds, characters or counts as named."""

from __future__ import annotations

from typing import Final

# store
BIG_BODY_BYTES: Final = 64 * 1024  # a larger event body goes to a blob
PAGE_ROWS: Final = 40  # row keys of one transcript page
LIVE_TEXT_SECONDS: Final = 1.0  # text so far is kept at least this often …
LIVE_TEXT_CHARS: Final = 2048  # … or after this much
BUS_QUEUE: Final = 1000  # items a subscriber may lag behind before it re-reads the log
LOCK_NOTICE_SECONDS: Final = 2.0  # a locked store is spoken of after this long
LOCK_WAIT_SECONDS: Final = 60.0

# words
TITLE_CHARS: Final = 200
TAINT_LABEL_CHARS: Final = 120
PREVIEW_CHARS: Final = 160
SCREEN_TEXT_CHARS: Final = 200_000  # a longer text is cut on screen, with a mark
COMBINING_IN_A_ROW: Final = 4

# index and search (search.md, conch-behaviour §2.2)
TOKEN_CHARS: Final = 64
TOOL_INPUT_CHARS: Final = 2_000
SNIPPET_CHARS: Final = 150
SNIPPET_RANGES: Final = 200
LINES_PER_CHAT: Final = 3
LINES_ONE_CHAT: Final = 50
PALETTE_NEWEST: Final = 2_000
OR_BUDGET: Final = 10_000
SEARCH_CACHE_KIB: Final = 8_192  # of an index's pages, a connection (there are three, two of them seldom used)
RERANKED: Final = 100
QUERY_CHARS: Final = 400  # palette and command line; longer is cut and said
MODEL_QUERY_CHARS: Final = 200
EXPLORER_QUERY_CHARS: Final = 500
SEARCH_LIMIT_MAX: Final = 100
SEARCH_LIMIT_DEFAULT: Final = 20
TOOLS_LANE_SECONDS: Final = 3.0
CATCH_UP_WAIT_SECONDS: Final = 3.0
FEW_CHATS: Final = 3  # fewer exact chats than this: typos are repaired
AND_ENOUGH_CHATS: Final = 8  # fewer exact chats than this: relaxed to OR
TYPO_ONE_FROM: Final = 4
TYPO_TWO_FROM: Final = 8
TYPO_VARIANTS: Final = 3
TYPO_WORD_CHARS: Final = 24  # longer words aren't repaired
PREVIEW_HIT_CHARS: Final = 900
PREVIEW_NEAR_CHARS: Final = 280
INDEX_DRAIN_MESSAGES: Final = 200
INDEX_DRAIN_SECONDS: Final = 0.05
INDEX_PACE_SECONDS: Final = 60.0  # how old what is written down of the index's pace may be
REBUILD_BATCH: Final = 20_000

# search_chats, read_chat (conch-behaviour §3)
TOOL_CHATS_DEFAULT: Final = 5
TOOL_CHATS_MAX: Final = 8
SEARCH_ANSWER_CHARS: Final = 8_000
SHORTEST_LINE_CHARS: Final = 80
NOTE_CHARS: Final = 600
FROM_CHARS: Final = 80
OTHERS_CHARS: Final = 200
READ_LINES: Final = 12
READ_LINE_CHARS: Final = 1_200
READ_FOCUS_CHARS: Final = 4_000
READ_ANSWER_CHARS: Final = 12_000
LOOK_CHATS: Final = 10
LOOK_LINES: Final = 3
LOOK_LINE_CHARS: Final = 240
CHAT_ID_CHARS: Final = 128
MESSAGE_ID_CHARS: Final = 256

# the offline assistant
TITLES_MATCHED: Final = 2_000  # newest titles that a sentence is matched with

# the loop
STEPS_A_TURN: Final = 60
REPEATS_WITHIN: Final = 12  # of a turn's newest calls, so many are watched for the same one …
REPEATS_TOLD: Final = 3  # … which is pointed out to the model from this many on …
REPEATS_PAUSE: Final = 5  # … and pauses the turn at this many
TOOL_RESULT_CHARS: Final = 100_000
TOOL_ARGS_CHARS: Final = 5_000_000
STOP_GRACE_SECONDS: Final = 1.5  # from turn.stop to task.cancel()
STOP_TOTAL_SECONDS: Final = 2.0  # turn.completed is committed within this
RETRIES: Final = 4
RETRY_BASE_SECONDS: Final = 1.0
RETRY_MOST_SECONDS: Final = 60.0
RETRY_HINT_MOST_SECONDS: Final = 300.0  # a server that asks for longer is told of in words instead
CONNECT_SECONDS: Final = 15.0
FIRST_EVENT_SECONDS: Final = 60.0
FIRST_EVENT_LOCAL_SECONDS: Final = 300.0  # a local server may load its model first
BETWEEN_EVENTS_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 300.0  # a model that only sends signs of life (comments, pings) is given up after this
CONTEXT_CHARS_PER_TOKEN: Final = 4
CONTEXT_DEFAULT_TOKENS: Final = 128_000
CONTEXT_KEEP_SHARE: Final = 0.75  # of the window, before summarising
CONTEXT_UNSEEN_SHARE: Final = 0.92  # up to this, so that results the model hasn't seen yet stay whole

# the screen
COLUMNS_MOST: Final = 4
COLUMN_MIN_WIDTH: Final = 38
DRAWER_UNDER: Final = 100
FRAMES_A_SECOND: Final = 12
ROWS_MOUNTED: Final = 80
PASTE_PLACEHOLDER_CHARS: Final = 2_000
ESC_TWICE_SECONDS: Final = 1.0
CARD_QUIET_SECONDS: Final = 1.0  # a card waits this long after the last key
CARD_DEAF_SECONDS: Final = 0.5  # and ignores keys this long after it appears, and after a paste
CLIPBOARD_CHARS: Final = 70_000
LEADER_SECONDS: Final = 3.0
TERMINAL_LOOK_SECONDS: Final = 1.0  # how often it is seen whether the terminal is still there
COMPLETE_SECONDS: Final = 0.2  # from the first paint until the rest of the program is imported: the columns come first

# messages in one chat's queue, imports
QUEUE_MOST: Final = 50
MESSAGE_CHARS: Final = 2_000_000
IMPORT_LINE_BYTES: Final = 20 * 1024 * 1024  # a longer line's text is cut with a mark
IMPORT_MESSAGE_CHARS: Final = 1_000_000
IMPORT_JSON_DEPTH: Final = 200
PERMISSION_UNATTENDED_SECONDS: Final = 3600.0

# settings and the command line
SETTINGS_BYTES: Final = 1024 * 1024  # a larger settings.toml is refused in words
SETTINGS_PROBLEMS: Final = 20  # so many mistakes are named
IMPORT_CHUNK_BYTES: Final = 1024 * 1024
IMPORT_LONG_STRING_BYTES: Final = 1_000_000  # of a string in a line past IMPORT_LINE_BYTES
IMPORT_KEY_CHARS: Final = 10_000
IMPORT_NUMBER_DIGITS: Final = 40
IMPORT_UNPACKED_BYTES: Final = 4 * 1024**3  # of a packed file
IMPORT_HELD_CHARS: Final = 8_000_000  # of chats read but not yet written; a larger chat is written in parts
IMPORT_HELD_CHATS: Final = 2_000
IMPORT_BATCH_CHARS: Final = 2_000_000  # whole chats of one commit
HEADLESS_LINE_BYTES: Final = 16 * 1024 * 1024
HEADLESS_QUIT_SECONDS: Final = 3.0
SETTLE_SECONDS: Final = 30.0

# the context's summary
SUMMARY_CHARS: Final = 6_000  # of one made without a model
SUMMARY_LINE_CHARS: Final = 300  # of each message in it

# stopping
STOP_CHILD_SECONDS: Final = 0.3  # a tool that ignores its cancellation is waited for this long
ASK_LOOK_SECONDS: Final = 0.5  # how often open unattended questions are looked at
TITLE_WORDS_CHARS: Final = 48  # a title made from the first words
TITLE_EVENTS: Final = 200  # the first events of a chat, of which its title is made
TITLE_SECONDS: Final = 20.0  # the model's title is waited for this long
CLOSE_SECONDS: Final = 3.0  # from quit to the process's end
CLOSE_LATE_SECONDS: Final = 0.4  # of them for turns that didn't end in time
SETTLE_LOOK_SECONDS: Final = 0.02
LOG_BYTES: Final = 1_000_000
LOG_FILES: Final = 3
CRASH_FILES: Final = 10
IMPORT_INDEX_SECONDS: Final = 600.0  # an import waits so long for the index, then leaves the rest to the next start
ASK_INDEX_SECONDS: Final = 5.0  # `ask` waits so long for the index before it ends
CONTEXT_CHATS_KEPT: Final = 4  # chats whose events stay in memory after a turn …
CONTEXT_EVENTS_KEPT: Final = 4_000  # … where they are no more than this
STREAM_BREATH_EVENTS: Final = 32  # a wire that never waits lets the screen have its turn this often
DELTA_JOIN_CHARS: Final = 4_096  # waiting deltas of one message are joined up to this
SHORT_CALL_ID: Final = 12  # a shorter call id may be a counter that starts anew
INDEX_TURN_SECONDS: Final = 0.1  # between two looks at who writes the index, and at what they wrote

# files (security.md §4.1)
READ_FILE_LINES: Final = 2_000  # lines of one read_file unless asked otherwise
READ_FILE_CHARS: Final = 60_000  # characters of one read_file
READ_FILE_LINE_CHARS: Final = 2_000  # a longer line is cut with a mark
READ_FILE_SECONDS: Final = 1.5  # what can't be reached in this time is told instead
FILE_CHUNK_BYTES: Final = 64 * 1024
EDIT_FILE_BYTES: Final = 20 * 1024 * 1024  # a larger file isn't edited or written whole
PATH_CHARS: Final = 4_096
LIST_ENTRIES: Final = 1_000
LIST_DEPTH: Final = 5
GLOB_FILES: Final = 500
SEARCH_MATCHES: Final = 200
SEARCH_FILE_MATCHES: Final = 50
SEARCH_FILE_BYTES: Final = 5 * 1024 * 1024  # larger files aren't searched, and that is said
HIDDEN_MARGIN_CHARS: Final = 2_000  # looked at beside what is shown of a long line, for secrets over the cut
SEARCH_LINE_CHARS: Final = 300
SEARCH_SECONDS: Final = 10.0
WALK_ENTRIES: Final = 200_000

# what a reply changed (conch-behaviour §2.12)
CHANGE_FILE_BYTES: Final = 5 * 1024 * 1024  # larger files are left out
CHANGE_FOLDER_FILES: Final = 10_000  # past these the folder gets file-tool undo only
CHANGE_FOLDER_BYTES: Final = 200 * 1024 * 1024
CHANGE_SET_FILES: Final = 500  # a command that changed more is shown, and not undone
CHANGE_SET_BYTES: Final = 64 * 1024 * 1024  # as one whose files held more than this before
CHANGE_FOLDERS_HINTED: Final = 1_000  # folders of one that are listened to while a command runs
CHANGE_BEAT_SECONDS: Final = 1.0  # while a command runs, how often it is noted that its folder is still watched
CHANGE_LATE_SECONDS: Final = 2.5  # so long after the last such note, a change is nobody's
CHANGE_DAYS: Final = 30
CHANGE_KEPT_BYTES: Final = 1024**3
DIFF_FILE_BYTES: Final = 1024 * 1024  # of a side of a change; a larger one isn't shown line by line
DIFF_LINES: Final = 2_000  # of a change set that are shown, over all its files
DIFF_LINE_CHARS: Final = 400  # of one of them
DIFF_PAIRS: Final = 2_000_000  # pairs of like lines a comparison may meet, about a second of work
DIFF_FILES: Final = 50
CHANGE_FOLDERS_WATCHED: Final = 4  # work folders whose state before is kept at once

# the guard
PARSED_COMMAND_CHARS: Final = 20_000  # a longer command isn't taken apart: it counts as one that does anything
PARSED_COMMAND_DEPTH: Final = 24  # commands inside commands, and the shell's own nesting
PARSED_COMMAND_PARTS: Final = 400
PARSED_COMMAND_PIPES: Final = 400  # pipes or here-documents
MARKS_READ: Final = 10_000  # newest mark events of a chat that are read to judge a download's mark again
SECOND_LOOK_SECONDS: Final = 6.0  # the cheap model that looks at a command is waited for this long
SECOND_LOOKS_KEPT: Final = 256  # answers of it that are remembered, over all turns
DELETES_ASK: Final = 50  # every so many deletes of one turn ask, in every mode
SAME_CHANGE_ASKS: Final = 10  # as does every tenth time that one turn makes the same change …
MESSAGES_ASK: Final = 100  # … and every so many messages that a chat sends to others within a day …
MESSAGES_REFUSED: Final = 500  # … of which this one and more are refused
MESSAGES_WITHIN_MS: Final = 24 * 60 * 60 * 1000
COMMANDS_KEPT_PARSED: Final = 64  # read-through commands kept for the next look at the same one
JUDGED_AT_ONCE_CHARS: Final = 2_000  # a longer command is judged in a thread
LEAD_UP_MESSAGES: Final = 3  # of the person's newest messages when a reply starts: their words to it

# commands
COMMAND_CHARS: Final = 20_000
COMMAND_SECONDS: Final = 120  # a foreground command's limit unless it asks for another …
COMMAND_SECONDS_MOST: Final = 1_800  # … which is at most this
COMMAND_GRACE_SECONDS: Final = 1.0  # from TERM to KILL when one is stopped
COMMAND_HEAD_BYTES: Final = 12_000  # of an output, this much of its beginning …
COMMAND_TAIL_BYTES: Final = 20_000  # … and this much of its end is shown
COMMAND_MARGIN_BYTES: Final = 4_096  # kept beyond both for the secrets filter, so that no secret is cut in two
COMMAND_PROGRESS_SECONDS: Final = 0.5
COMMAND_LABEL_CHARS: Final = 100
SANDBOX_PROBE_SECONDS: Final = 5.0
PROCESSES_A_CHAT: Final = 8
PROCESSES_IN_ALL: Final = 24
PROCESS_FINISHED_KEPT: Final = 32  # ended background processes whose output can still be read
PROCESS_KEPT_BYTES: Final = 256_000  # of a background process's output

# memory, vault, Activity (conch-behaviour §2.4, §2.13, §2.14)
MEMORY_CHARS: Final = 2_000  # of one memory
MEMORY_PROMPT_CHARS: Final = 6_000  # all go with the message while they fit; else the relevant, then the newest
MEMORY_RECALLED: Final = 8  # memories of one `recall` unless asked otherwise
MEMORY_RECALLED_MOST: Final = 20
MEMORIES_MOST: Final = 2_000  # kept ones
MEMORY_TOLD_EVENTS: Final = 2_000  # of a chat are looked through for what was told it in an earlier run
VAULT_NAMES: Final = 500
VAULT_NAME_CHARS: Final = 80
VAULT_VALUE_CHARS: Final = 10_000
VAULT_PASSPHRASE_LEAST: Final = 8  # characters
VAULT_SECONDS: Final = 5.0  # a keyring that doesn't answer within this isn't used
ACTIVITY_PAGE: Final = 50  # entries of one page
ACTIVITY_EVENTS: Final = 5_000  # events looked through for one page; a rarer word takes further pages
ACTIVITY_WORDS_CHARS: Final = 300  # of one entry

# pages
URL_CHARS: Final = 2_000
FETCH_SECONDS: Final = 30.0  # for all of it: looking up, connecting, every redirect, the body
FETCH_BYTES: Final = 5_000_000  # of a body, unpacked
FETCH_REDIRECTS: Final = 5
FETCH_MARKUP_CHARS: Final = 1_000_000  # of a page's markup that is made readable
FETCH_TEXT_CHARS: Final = 50_000  # of its text that is given
FETCH_NESTING: Final = 12  # lists and quotes in one another
SEARCH_WORDS_CHARS: Final = 400  # of a web search's query
SEARCH_RESULTS: Final = 10
SEARCH_TEXT_CHARS: Final = 600  # of each result

# chats together (ADR 0134, conch-behaviour §4)
LISTED_CHATS: Final = 12
LISTED_RECENT_DAYS: Final = 3  # besides the busy ones and those that need the person
LISTED_FILES: Final = 3  # named of a chat; the rest is counted
NAME_IN_LINE_CHARS: Final = 120  # another chat's title, cleaned, in a line of Shoal's
NOTES_A_TURN: Final = 4
LINK_SECONDS: Final = 2.0  # how long where a path leads is taken as known, by chats that work side by side
LINKS_KEPT: Final = 4_096
CHAIN_MESSAGES: Final = 8
CHAIN_REPLIES: Final = 4  # started by messages
CHAIN_PAIR_MESSAGES: Final = 3  # from one chat to another
MESSAGES_WAITING: Final = 5  # for any one chat
MESSAGE_REPEAT_MS: Final = 10 * 60 * 1000
CHAT_MESSAGE_CHARS: Final = 4_000
STOP_REASON_CHARS: Final = 500
CHAINS_KEPT_DAYS: Final = 7

# waits (conch-behaviour §2.9)
WAITS_A_CHAT: Final = 4
WAITS_MOST: Final = 32
WAIT_TITLE_CHARS: Final = 160
WAIT_STATUS_CHARS: Final = 300
WAIT_PARTS: Final = 40
WAIT_PART_CHARS: Final = 120
WAIT_TEXT_CHARS: Final = 200  # `pattern` and `contains`
WAIT_MINUTES_MOST: Final = 1_440
WAIT_MINUTES: Final = {  # unless asked for, and at most
    "process": (30, 30),
    "ci": (60, 360),
    "url": (60, 1_440),
    "time": (1, 1_440),
    "chat": (60, 1_440),
    "task": (60, 1_440),
}
WAIT_HELD_MINUTES: Final = 2  # a shorter time is held, not let go
WAIT_PACE_GROWTH: Final = 1.6
WAIT_PACE_JITTER: Final = 0.15
WAIT_PACES: Final = {"ci": (15.0, 120.0), "ci-open": (90.0, 300.0), "url": (30.0, 300.0)}  # seconds: base, most
WAIT_CLOCKED: Final = ("url", "ci")  # those are looked at by the clock; the others when something moves
WAIT_LOOK_SECONDS: Final = 30.0  # chats and tasks, in case a change went unsaid
WAIT_NUDGE_SECONDS: Final = 0.25  # at least so long between two looks that a change asked for
WAIT_CHECK_SECONDS: Final = 5.0  # between two presses of Check now
WAIT_REPLY_CHARS: Final = 800  # of the other chat's last reply

# tasks and room (conch-behaviour §2.5, 2.6)
TASK_TITLE_CHARS: Final = 120
TASK_TITLE_ASKED_CHARS: Final = 80
TASK_INSTRUCTIONS_CHARS: Final = 8_000
TASK_PROMPT_CHARS: Final = 20_000
TASK_PARTS: Final = 6  # of one `delegate`
TASK_STEPS: Final = 12
TASK_OPERATIONS_TOLD: Final = 50  # of one task at once, from an offset on
TASK_CURRENT_CHARS: Final = 240
TASK_SUMMARY_CHARS: Final = 4_000
TASK_EVENT_SUMMARY_CHARS: Final = 600
TASK_ERROR_CHARS: Final = 1_000
TASK_ASKING_CHARS: Final = 600  # of what a task asks; longer is answered in its own chat, where all of it is shown
TASK_NOTE_CHARS: Final = 300
TASKS_TOLD: Final = 50
ROOM_MOST: Final = 12
ROOM_LEAST: Final = 2
ROOM_START_NOW_EXTRA: Final = 2
ROOM_SETTLING_SECONDS: Final = 60.0  # a task that started later isn't in the readings yet
ROOM_MORE_AFTER_WAITING: Final = 1.25
ROOM_PATIENCE_SECONDS: Final = 90.0
ROOM_PAUSE_SECONDS: Final = 20.0  # of a provider that asked to slow down; doubled each time …
ROOM_PAUSE_MOST_SECONDS: Final = 120.0  # … up to this
ROOM_PAUSE_LEAST_SECONDS: Final = 5.0
ROOM_RECOVERY_SECONDS: Final = 30.0  # of headroom after memory was short, …
ROOM_RECOVERY_SLOT_SECONDS: Final = 10.0  # … then one task starts each
ROOM_LOOK_SECONDS: Final = 10.0  # between looks while something waits for room and nothing else moves
ROOM_TYPICAL_OF: Final = 20  # so many tasks that ended tell how long one takes
ROOM_CALM_SECONDS: Final = 120.0  # then it gets one place back a minute
ROUTINE_LOOK_SECONDS: Final = 20.0  # how often it is seen which routines are due

# the history explorer (Dyad's plan; explorer-behaviour §2.6)
EXPLORE_STEPS: Final = 10
EXPLORE_CALLS: Final = 24  # searches and reads of one run
EXPLORE_OBSERVED_BYTES: Final = 96 * 1024  # of text the engine sees in one run
EXPLORE_SEARCH_BYTES: Final = 12 * 1024
EXPLORE_READ_BYTES: Final = 20 * 1024
EXPLORE_REPORT_BYTES: Final = 6 * 1024
EXPLORE_RETRIES: Final = 1
EXPLORE_OUTPUT_TOKENS: Final = 8_000  # of one answer of the engine
EXPLORE_INDEX_SECONDS: Final = 1.0  # waited for the index, once
EXPLORE_CHATS: Final = 8  # of one search
EXPLORE_READ_LINES: Final = 12
EXPLORE_READ_CHARS: Final = 2_400  # of one line
EXPLORE_PASSAGE_CHARS: Final = 320
EXPLORE_SHORT_CHARS: Final = 160  # of a passage once the report has …
EXPLORE_WHOLE: Final = 6  # … so many
EXPLORE_FINDINGS: Final = 8
EXPLORE_CONFLICTS: Final = 4
EXPLORE_EVIDENCE: Final = 6  # of one finding or conflict
EXPLORE_CLAIM_CHARS: Final = 400
EXPLORE_SUMMARY_CHARS: Final = 1_200
EXPLORE_MISSING: Final = 6
EXPLORE_MISSING_CHARS: Final = 200
EXPLORE_FALLBACK: Final = 8  # passages of an evidence-only report
EXPLORE_ARGS_CHARS: Final = 60_000
EXPLORE_RUNS_KEPT: Final = 200
