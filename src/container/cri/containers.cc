#include "src/container/cri/containers.h"

#include <cri_status_v1.pb.h>

#include <utility>

#include "src/platform/net/rpc/one_call.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::cri {
namespace {

using ::runtime::v1::ListContainersRequest;
using ::runtime::v1::ListContainersResponse;
using Done = std::function<void(StatusOr<std::vector<ContainerFacts>>)>;

std::string LabelOf(const ::runtime::v1::Container& container, const char* name) {
  const auto found = container.labels().find(name);
  return found == container.labels().end() ? std::string() : found->second;
}

std::vector<ContainerFacts> FactsOf(const ListContainersResponse& response) {
  std::vector<ContainerFacts> facts;
  facts.reserve(static_cast<size_t>(response.containers_size()));
  for (const ::runtime::v1::Container& container : response.containers()) {
    ContainerFacts one{.id = container.id(),
                       .pod_namespace = LabelOf(container, "io.kubernetes.pod.namespace"),
                       .pod = LabelOf(container, "io.kubernetes.pod.name"),
                       .pod_uid = LabelOf(container, "io.kubernetes.pod.uid"),
                       .container = LabelOf(container, "io.kubernetes.container.name"),
                       .is_running = container.state() == ::runtime::v1::CONTAINER_RUNNING};
    if (!one.pod.empty() && !one.pod_namespace.empty()) {
      facts.push_back(std::move(one));
    }
  }
  return facts;
}

class AskedForContainers final : public Question {
 public:
  explicit AskedForContainers(std::unique_ptr<rpc::PendingCall> call) : call_(std::move(call)) {}

 private:
  std::unique_ptr<rpc::PendingCall> call_;
};

}  // namespace

std::unique_ptr<Question> ListContainers(EventLoop& loop, const std::string& socket,
                                         std::chrono::milliseconds deadline, Done done) {
  StatusOr<UniqueFd> fd = sys::ConnectUnix(socket);
  if (!fd.ok()) {
    return std::make_unique<AskedForContainers>(
        std::make_unique<rpc::RefusedCall>(loop, fd.status(), std::move(done)));
  }
  return std::make_unique<AskedForContainers>(
      rpc::StartCall<ListContainersRequest, ListContainersResponse>(
          loop, *std::move(fd), "/runtime.v1.RuntimeService/ListContainers",
          ListContainersRequest(), deadline,
          [done = std::move(done)](const StatusOr<ListContainersResponse>& response) {
            if (response.ok()) {
              done(FactsOf(*response));
            } else {
              done(Annotate(response.status(), "list the runtime's containers"));
            }
          }));
}

}  // namespace kgpu::cri
