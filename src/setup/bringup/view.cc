#include "src/setup/bringup/view.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::bringup {
namespace {

namespace json = boost::json;

json::array Lines(std::string_view text) {
  json::array lines;
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.empty()) {
      lines.push_back(doc::View(line));
    }
  }
  return lines;
}

}  // namespace

std::string ReportText(const Report& report) {
  std::string notes;
  for (const std::string& note : report.notes) {
    notes += fmt::format("note: {}\n", note);
  }
  if (report.stages.empty()) {
    return "nothing to do\n" + notes;
  }
  report::Table table({"STAGE", "STATE", "WHAT"});
  std::string previews;
  for (const StageReport& stage : report.stages) {
    table.AddRow({stage.id, std::string(ToString(stage.step)),
                  stage.text.empty() ? stage.title : stage.text});
    if (!stage.preview.empty()) {
      previews += fmt::format("\n== {}\n{}", stage.title, stage.preview);
    }
  }
  return table.Render() + notes + previews;
}

json::value ReportJson(const Report& report) {
  json::array stages;
  for (const StageReport& stage : report.stages) {
    json::object one{{"id", doc::View(stage.id)},
                     {"state", doc::View(ToString(stage.step))},
                     {"text", doc::View(stage.text)}};
    if (stage.step == Step::kWould) {
      one["wouldDo"] = Lines(stage.preview);
    }
    stages.push_back(std::move(one));
  }
  return stages;
}

}  // namespace kgpu::bringup
