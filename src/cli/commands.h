// Every verb of the command line: adds its options to the program and runs when it was chosen.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace saccade {

// What main() runs after parsing: the chosen verb, returning the exit code.
using Command = std::function<int()>;

void AddAskCommand(CLI::App& program, Command& chosen);
void AddBenchCommand(CLI::App& program, Command& chosen);
void AddKeyCommand(CLI::App& program, Command& chosen);
void AddInfoCommand(CLI::App& program, Command& chosen);
void AddTraceCommand(CLI::App& program, Command& chosen);
void AddQuantizeCommand(CLI::App& program, Command& chosen);
void AddServeCommand(CLI::App& program, Command& chosen);

}  // namespace saccade
