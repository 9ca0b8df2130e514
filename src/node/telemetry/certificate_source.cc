#include "src/node/telemetry/certificate_source.h"

#include <chrono>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::telemetry {
namespace {

constexpr size_t kMaxPem = size_t{1} << 20;
constexpr std::chrono::seconds kCertificateRetry{1};

bool AreAlike(const tls::ServerOptions& a, const tls::ServerOptions& b) {
  return a.certificate_pem == b.certificate_pem && a.key_pem == b.key_pem &&
         a.client_ca_pem == b.client_ca_pem;
}

}  // namespace

CertificateSource::CertificateSource(const sys::Root& root, const Clock& clock,
                                     const config::MetricsTls& files)
    : clock_(clock),
      certificate_(root, files.certificate, kMaxPem),
      key_(root, files.key, kMaxPem),
      client_ca_(root, files.client_ca, kMaxPem) {
}

StatusOr<tls::ServerOptions> CertificateSource::Read() {
  const SteadyTime now = clock_.Now();
  tls::ServerOptions options;
  ASSIGN_OR_RETURN(options.certificate_pem, certificate_.Read(now));
  ASSIGN_OR_RETURN(options.key_pem, key_.Read(now));
  ASSIGN_OR_RETURN(options.client_ca_pem, client_ca_.Read(now));
  return options;
}

std::shared_ptr<const tls::Context> CertificateSource::Current() {
  // Anybody who connects asks: what cannot be used must not be read and parsed for each of them.
  if (!next_try_ || clock_.Now() >= *next_try_) {
    Refresh();
  }
  return context_;
}

void CertificateSource::Refresh() {
  StatusOr<tls::ServerOptions> options = Read();
  if (options.ok() && AreAlike(*options, read_) && problem_.empty() && context_ != nullptr) {
    return;
  }
  auto context = options.ok() ? tls::Context::ForServer(*options)
                              : StatusOr<std::shared_ptr<const tls::Context>>(options.status());
  if (!context.ok()) {
    return Keep(context.status());
  }
  if (context_ != nullptr) {
    KGPU_LOG(kInfo, "certificate replaced", {"file", certificate_.path()});
  }
  read_ = *std::move(options);
  problem_.clear();
  next_try_.reset();
  context_ = *std::move(context);
}

void CertificateSource::Keep(const Status& problem) {
  // The two files are replaced one after the other: soon they may fit.
  for (kube::RereadFile* file : {&certificate_, &key_, &client_ca_}) {
    file->Expire();
  }
  next_try_ = clock_.Now() + kCertificateRetry;
  std::string text =
      fmt::format("{} and {}: {}", certificate_.path(), key_.path(), Message(problem));
  if (text != problem_) {
    KGPU_LOG(kError, "certificate rejected", {"reason", text},
             {"effect", context_ ? "the previous one stays in use" : "metrics are not served"});
    problem_ = std::move(text);
  }
}

}  // namespace kgpu::telemetry
