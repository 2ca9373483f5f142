// Ctrl-C and SIGTERM as something to wait for or look at, instead of sudden death.
#pragma once

namespace saccade {

// From now on SIGINT and SIGTERM only count. A third one ends the process at once. SIGPIPE is ignored.
void CatchInterrupts();

// How many came so far.
int InterruptCount();

// Readable when one came: for poll().
int InterruptDescriptor();

}  // namespace saccade
