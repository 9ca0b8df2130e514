// `kgpu fn runtime list`: the languages that functions are written in.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/functions/runtimes/runtimes.h"
#include "src/node/report/table.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

struct FnRuntimeOptions {
  std::string output = "table";
};

std::string RuntimesTable() {
  report::Table table({"NAME", "LANGUAGE", "FILE", "HANDLER"});
  for (const functions::Runtime& runtime : functions::Runtimes()) {
    table.AddRow({std::string(runtime.name), std::string(runtime.title),
                  std::string(runtime.handler_file), std::string(runtime.signature)});
  }
  return table.Render();
}

json::value RuntimesJson() {
  json::array runtimes;
  for (const functions::Runtime& runtime : functions::Runtimes()) {
    json::array aliases;
    if (!runtime.alias.empty()) {
      aliases.emplace_back(doc::View(runtime.alias));
    }
    runtimes.push_back(json::object{
        {"name", doc::View(runtime.name)},
        {"aliases", std::move(aliases)},
        {"language", doc::View(runtime.title)},
        {"handler",
         {{"file", doc::View(runtime.handler_file)}, {"name", doc::View(runtime.handler_name)}}},
        {"signature", doc::View(runtime.signature)},
        {"streams", runtime.streams}});
  }
  return json::object{{"runtimes", std::move(runtimes)}};
}

StatusOr<ExitCode> RunFnRuntimeList(const FnRuntimeOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  return OkOr(PrintAs(format, RuntimesTable(), RuntimesJson()));
}

}  // namespace

void AddFnRuntimeCommands(CommandRegistrar& registrar, CLI::App& group) {
  CLI::App& runtime = *group.add_subcommand("runtime", "Show the languages of functions");
  runtime.alias("r");
  runtime.require_subcommand(0, 1);
  runtime.footer("  kgpu fn runtime list");
  auto [command, options] = registrar.Add<FnRuntimeOptions>(
      runtime, "list", "List the languages, and what a handler looks like", &RunFnRuntimeList);
  command.footer(
      "  kgpu fn runtime list\n"
      "  kgpu fn runtime list --output json | jq -r '.runtimes[].name'");
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
