// Our identity to an API server and the authorities we trust, kept up to date: re-reads tokens and
// certificates from their files, and runs exec plugins again.
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
  // `root` is our own file system, not the host's; exec plugins get `environment`. All references
  // must outlive it.
  Credentials(EventLoop& loop, Random& random, const sys::Root& root, ClusterSpec cluster,
              UserSpec user, std::vector<std::string> environment);
  ~Credentials() override;

  // A token from a file is at most a minute old; a token from a plugin has not expired.
  void Authenticate(Done done) override;
  // Reads files and runs plugins again for the next request.
  void Reject() override;
  // For HttpTransport; call Authenticate first, which may bring a certificate. The generation
  // increases when an authority or a certificate changes. An unusable change is logged, and the old
  // state stays.
  StatusOr<Trust> CurrentTrust();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
