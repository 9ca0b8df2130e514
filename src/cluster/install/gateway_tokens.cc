#include "src/cluster/install/gateway_tokens.h"

#include <boost/json.hpp>

#include <string>

#include "src/cluster/install/record.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/random_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

constexpr kube::Resource kSecrets{"", "v1", "secrets"};
constexpr size_t kTokenBytes = 32;

}  // namespace

StatusOr<bool> EnsureGatewayTokens(kube::BlockingClient& client, std::string_view space) {
  ASSIGN_OR_RETURN(const std::string admin, RandomHex(kTokenBytes));
  ASSIGN_OR_RETURN(const std::string metrics, RandomHex(kTokenBytes));
  const json::object secret = {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"metadata",
       {{"name", doc::View(kTokensSecret)},
        {"namespace", doc::View(space)},
        {"labels",
         {{"app.kubernetes.io/name", doc::View(kGatewayManager)},
          {doc::View(kPartOf), "kgpu"},
          {doc::View(kManagedBy), doc::View(kManager)}}}}},
      {"type", "Opaque"},
      {"stringData",
       {{"tokens",
         fmt::format("# TOKEN ROLE[,ROLE] [namespace=NAME]\n{} admin\n{} read\n", admin, metrics)},
        {"admin-token", admin},
        {"metrics-token", metrics}}}};
  const auto made = client.Send(kube::CreateRequest(kSecrets.Collection(space), secret,
                                                    {.field_manager = std::string(kManager)}));
  if (made.status().code() == StatusCode::kAlreadyExists) {
    return false;
  }
  RETURN_IF_ERROR(Annotate(made.status(), "Secret {}/{}", space, kTokensSecret));
  return true;
}

}  // namespace kgpu::install
