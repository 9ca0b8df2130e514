// Any output of an exec plugin gives a usable credential, or an error that quotes none of it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/kube/api/exec_credential.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto credential = kgpu::kube::ParseExecCredential(text, "client.authentication.k8s.io/v1");
  if (credential.ok() && (credential->token.empty() == credential->certificate_pem.empty()) &&
      credential->token.empty()) {
    std::abort();
  }
  if (credential.ok() && credential->token.find_first_of(" \r\n") != std::string_view::npos) {
    std::abort();
  }
  if (!credential.ok() && text.find("secret") != std::string_view::npos &&
      kgpu::Message(credential.status()).find("secret") != std::string_view::npos) {
    std::abort();
  }
  return 0;
}
