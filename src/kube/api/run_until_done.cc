#include "src/kube/api/run_until_done.h"

#include <boost/json/value.hpp>

namespace kgpu::kube {

StatusOr<boost::json::value> Fetch(EpollLoop& loop, Client& client, ApiRequest request) {
  return RunUntilDone<boost::json::value>(
      loop, [&](Client::Done done) { return client.Send(std::move(request), std::move(done)); });
}

}  // namespace kgpu::kube
