#include "src/cli/base/kinds_view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>
#include <vector>

#include "src/cli/base/output.h"
#include "src/node/report/table.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {

namespace json = boost::json;

namespace {

// Titles are text of a page, which marks code with backticks.
std::string PlainOf(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '`');
  return plain;
}

}  // namespace

std::string KindsTable(const KindsList& list) {
  std::vector<std::string> head = {"FINDING", "SEVERITY", "FOUND WHEN"};
  if (!list.extra.empty()) {
    head.emplace_back(list.extra);
  }
  report::Table table(std::move(head));
  for (const report::Kind& kind : list.kinds) {
    std::vector<std::string> row = {
        std::string(kind.id), std::string(report::ToString(kind.severity)), PlainOf(kind.title)};
    if (!list.extra.empty()) {
      row.emplace_back(kind.extra);
    }
    table.AddRow(std::move(row));
  }
  return table.Render();
}

json::value KindsJson(const KindsList& list) {
  json::array kinds;
  for (const report::Kind& kind : list.kinds) {
    json::object entry{{"id", doc::View(kind.id)},
                       {"severity", doc::View(report::ToString(kind.severity))},
                       {"title", PlainOf(kind.title)}};
    if (!list.extra_key.empty()) {
      entry[doc::View(list.extra_key)] = doc::View(kind.extra);
    }
    kinds.push_back(std::move(entry));
  }
  return json::object{{doc::View(list.name), std::move(kinds)}};
}

StatusOr<ExitCode> PrintKinds(const std::string& output, const KindsList& list,
                              std::string_view markdown) {
  return PrintReference(output, markdown, KindsTable(list), KindsJson(list));
}

}  // namespace kgpu::cli
