// The agent's identity to clients that read its pages: a certificate in files that others replace.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/reread_file.h"
#include "src/node/config/node_config.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/root.h"

namespace kgpu::telemetry {

// Loop thread only.
class CertificateSource {
 public:
  // `root` and `clock` must outlive it.
  CertificateSource(const sys::Root& root, const Clock& clock, const config::MetricsTls& files);

  // At most a minute old; while the files are unusable, retries once a second. Unusable files leave
  // the last context in place; null: there has been none yet, see problem().
  std::shared_ptr<const tls::Context> Current();
  // Empty: the current files are in use.
  const std::string& problem() const { return problem_; }

 private:
  void Refresh();
  StatusOr<tls::ServerOptions> Read();
  void Keep(const Status& problem);

  const Clock& clock_;
  kube::RereadFile certificate_;
  kube::RereadFile key_;
  kube::RereadFile client_ca_;
  tls::ServerOptions read_;  // as last read, usable or not
  std::shared_ptr<const tls::Context> context_;
  std::string problem_;
  std::optional<SteadyTime> next_try_;  // after a problem
};

}  // namespace kgpu::telemetry
