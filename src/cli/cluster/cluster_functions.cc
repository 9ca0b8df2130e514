#include "src/cli/cluster/cluster_functions.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "src/cluster/install/gateway_tokens.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// Valid values have it.
const json::object& FunctionsOf(const chart::Values& values) {
  return values.tree.at("functions").as_object();
}

}  // namespace

StatusOr<chart::Values> ReadValuesWithFunctions(bool is_asked, chart::ValuesRequest& request) {
  if (is_asked) {
    request.settings.emplace_back("functions.enabled=true");
  }
  ASSIGN_OR_RETURN(chart::Values values, chart::ReadValues(request));
  const json::object& functions = FunctionsOf(values);
  const bool is_open = functions.at("allowAnonymous").as_bool();
  if (!functions.at("enabled").as_bool() || is_open ||
      !functions.at("tokensSecret").as_string().empty()) {
    return values;
  }
  request.settings.push_back(fmt::format("functions.tokensSecret={}", install::kTokensSecret));
  return chart::ReadValues(request);
}

bool HasOwnTokens(const chart::Values& values) {
  const json::object& functions = FunctionsOf(values);
  return functions.at("enabled").as_bool() &&
         functions.at("tokensSecret").as_string() == doc::View(install::kTokensSecret);
}

}  // namespace kgpu::cli
