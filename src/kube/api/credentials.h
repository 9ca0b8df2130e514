// Who we are to an API server and whom we trust, kept up to date: tokens and certificates are read
// again from their files, exec plugins run again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/authenticator.h"
#include "src/kube/api/http_transport.h"
#include "src/kube/api/kubeconfig.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::kube {

// Lives on the loop's thread.
class Credentials final : public Authenticator {
 public:
  // `root` is our own file system, not the host's; `environment` is what exec plugins get. All
  // references outlive it.
  Credentials(EventLoop& loop, Random& random, const sys::Root& root, ClusterSpec cluster,
              UserSpec user, std::vector<std::string> environment);
  ~Credentials() override;

  // A token of a file is at most a minute old, a token of a plugin has not expired.
  void Authenticate(Done done) override;
  // Files are read and plugins run for the next request.
  void Reject() override;
  // For HttpTransport; call Authenticate first, which may bring a certificate. The generation
  // grows when an authority or a certificate has changed. A change that cannot be used is logged,
  // and what was there stays.
  StatusOr<Trust> CurrentTrust();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
