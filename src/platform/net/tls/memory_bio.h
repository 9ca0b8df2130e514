// OpenSSL's connection to a peer, over two strings: it reads from one and writes to the other.
// OpenSSL's own memory BIO keeps the memory of the largest burst for the life of a connection.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/net/tls/openssl.h"

namespace kgpu::tls {

struct MemoryBio {
  std::string_view input{};  // the remaining bytes fed
  std::string output{};
};

StatusOr<BioMethodPtr> NewMemoryBioMethod();
// `memory` must outlive the BIO.
StatusOr<BioPtr> NewMemoryBio(const BIO_METHOD* method, MemoryBio& memory);

}  // namespace kgpu::tls
