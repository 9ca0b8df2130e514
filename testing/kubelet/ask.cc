#include "testing/kubelet/ask.h"

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/control_socket.h"
#include "testing/kubelet/json_fields.h"

namespace kgpu::kubelet {

namespace json = boost::json;

StatusOr<json::value> Ask(const std::string& folder, const json::object& request,
                          std::chrono::milliseconds limit) {
  constexpr size_t kLimit = size_t{64} << 20;
  const std::string path = fmt::format("{}/{}", folder, kControlSocket);
  const StatusOr<std::string> line = AskControl(path, doc::PrintLine(request), limit);
  if (line.status().code() == StatusCode::kNotFound ||
      line.status().code() == StatusCode::kUnavailable) {
    return Unavailable("{}: no stub kubelet is running: run kgpu sim kubelet start {}", folder,
                       folder);
  }
  RETURN_IF_ERROR(line.status());
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(*line, doc::Format::kJson, "answer", {.bytes = kLimit}));
  const JsonFields answer(tree, "answer");
  if (const json::value* result = answer.Find("result"); result != nullptr) {
    return *result;
  }
  int code = 0;
  std::string text;
  RETURN_IF_ERROR(answer.Require("code", code));
  RETURN_IF_ERROR(answer.Require("error", text));
  return MakeStatus(static_cast<StatusCode>(code), text);
}

}  // namespace kgpu::kubelet
