// How the command line of kgpu-sim looks: as that of kgpu does.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <string>

#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::simhost {

// Before any command is added: types of values are shown as in the help of kgpu.
void SetStyle(CLI::App& app);
// After the last one: groups in the help of the program, and examples in that of each command.
void AddExamples(CLI::App& app);
// The help of the command that was parsed, as wide as the terminal.
std::string HelpOf(const CLI::App& app);

// --output, or $KGPU_OUTPUT: table, json or yaml.
void AddOutputOption(CLI::App& verb, std::string& output);
// A result in that format, without the last line end. Errors: those of `table`.
StatusOr<std::string> InFormat(const std::string& output, const boost::json::value& json,
                               const std::function<StatusOr<std::string>()>& table);

}  // namespace kgpu::simhost
