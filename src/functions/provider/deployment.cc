#include "src/functions/provider/deployment.h"

#include <boost/json/value.hpp>

#include <cstdint>
#include <utility>

#include "src/functions/spec/wire.h"
#include "src/platform/base/stable_hash.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

constexpr auto kLastSecond = static_cast<int64_t>(kLastCount<std::chrono::seconds>);

}  // namespace

Deployment MakeDeployment(Function function, std::string image_id, WallTime now) {
  // How many replicas there are changes none of them.
  Function fixed = function;
  fixed.scaling = {};
  fixed.calls.retries = 0;
  fixed.calls.is_async = false;
  std::string hash = fmt::format("{:016x}", StableHash(doc::PrintLine(ToWire(fixed)) + image_id));
  return {.function = std::move(function),
          .image_id = std::move(image_id),
          .deployed = std::chrono::floor<std::chrono::seconds>(now),
          .hash = std::move(hash)};
}

std::string PrintDeployment(const Deployment& deployment) {
  const auto deployed =
      std::chrono::floor<std::chrono::seconds>(deployment.deployed).time_since_epoch();
  // The function as a text: its reader is strict, and wants to see what it reads.
  const boost::json::object file{{"function", doc::PrintLine(ToWire(deployment.function))},
                                 {"identity", deployment.identity},
                                 {"imageId", deployment.image_id},
                                 {"deployed", deployed.count()}};
  return doc::Print(file, doc::Format::kJson);
}

StatusOr<Deployment> ParseDeployment(std::string_view text, std::string_view where) {
  ASSIGN_OR_RETURN(const boost::json::value root,
                   doc::ParseJson(text, where, {.bytes = kMaxDeploymentBytes}));
  doc::Fields fields(root, std::string(where));
  const std::string function_text = fields.Text("function");
  const std::string identity = fields.Has("identity") ? fields.Text("identity") : "";
  const std::string image_id = fields.Text("imageId");
  const int64_t deployed = fields.Number("deployed");
  RETURN_IF_ERROR(fields.status());
  if (deployed < 0 || deployed > kLastSecond) {
    return InvalidArgument("{}: deployed: must be seconds since 1970", where);
  }
  ASSIGN_OR_RETURN(Function function, ParseWire(function_text, where));
  Deployment deployment =
      MakeDeployment(std::move(function), image_id, WallTime(std::chrono::seconds(deployed)));
  deployment.identity = identity;
  return deployment;
}

}  // namespace kgpu::functions
