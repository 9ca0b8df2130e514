#include "src/cli/cluster/cluster_request.h"

#include <boost/json.hpp>

#include <utility>

#include "src/cli/base/config_file.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {

namespace json = boost::json;

json::object RequestJson(const chart::ValuesRequest& request) {
  json::array files;
  for (const chart::ValuesFile& file : request.files) {
    files.push_back({{"name", file.name}, {"text", file.text}});
  }
  return {{"for", request.distribution},
          {"files", std::move(files)},
          {"settings", doc::Texts(request.settings)}};
}

StatusOr<chart::ValuesRequest> ParseRequest(const json::object& object, std::string_view space) {
  const json::value tree(object);
  const std::string where = "ConfigMap kgpu-install: data.request";
  doc::Fields fields(tree, where);
  chart::ValuesRequest request{.name_space = std::string(space)};
  request.distribution = fields.Text("for");
  request.settings = fields.Texts("settings");
  const json::value& files = fields.Get("files");
  for (const json::value& item : files.is_array() ? files.get_array() : json::array()) {
    doc::Fields file(item, where + ".files");
    request.files.push_back({.name = file.Text("name"), .text = file.Text("text")});
    RETURN_IF_ERROR(file.status());
  }
  RETURN_IF_ERROR(fields.status());
  return request;
}

chart::ValuesRequest MergeRequests(chart::ValuesRequest before, const chart::ValuesRequest& given) {
  if (!given.distribution.empty()) {
    before.distribution = given.distribution;
  }
  if (!given.files.empty()) {
    before.files = given.files;
  }
  before.settings.insert(before.settings.end(), given.settings.begin(), given.settings.end());
  return before;
}

}  // namespace kgpu::cli
