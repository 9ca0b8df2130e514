#include "src/cli/cdi/cdi_view.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <iterator>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

using doc::Texts;

}  // namespace

json::value FoldersJson(const cdi::FolderContents& contents) {
  json::array devices;
  for (const cdi::Resolved& device : contents.devices) {
    devices.push_back({{"name", device.name}, {"file", device.path}});
  }
  json::array files;
  for (const cdi::SpecFile& file : contents.files) {
    files.push_back({{"path", file.path},
                     {"kind", file.spec.kind},
                     {"cdiVersion", file.spec.version},
                     {"problem", file.problem}});
  }
  json::array conflicts;
  for (const cdi::Conflict& conflict : contents.conflicts) {
    conflicts.push_back({{"name", conflict.name}, {"files", Texts(conflict.paths)}});
  }
  return {{"devices", std::move(devices)},
          {"files", std::move(files)},
          {"conflicts", std::move(conflicts)},
          {"problems", Texts(contents.problems)}};
}

std::string FoldersTable(const cdi::FolderContents& contents) {
  std::string out;
  if (contents.devices.empty()) {
    out += "No CDI devices. Run kgpu cdi generate to declare the GPUs of this host.\n";
  } else {
    report::Table table({"DEVICE", "FILE"});
    for (const cdi::Resolved& device : contents.devices) {
      table.AddRow({device.name, device.path});
    }
    out += table.Render();
  }
  for (const cdi::Conflict& conflict : contents.conflicts) {
    fmt::format_to(std::back_inserter(out),
                   "{}: declared by {}: container engines reject it; remove all but one\n",
                   conflict.name, Join(conflict.paths, " and "));
  }
  for (const cdi::SpecFile& file : contents.files) {
    if (!file.problem.empty()) {
      fmt::format_to(std::back_inserter(out), "{}\n", file.problem);
    }
  }
  for (const std::string& problem : contents.problems) {
    fmt::format_to(std::back_inserter(out), "{}\n", problem);
  }
  return out;
}

}  // namespace kgpu::cli
