#include "src/platform/net/tls/memory_bio.h"

#include <algorithm>
#include <cstring>

namespace kgpu::tls {
namespace {

int Read(BIO* bio, char* bytes, int size) {
  auto* memory = static_cast<MemoryBio*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (memory->input.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const size_t count = std::min(memory->input.size(), static_cast<size_t>(std::max(size, 0)));
  std::memcpy(bytes, memory->input.data(), count);
  memory->input.remove_prefix(count);
  return static_cast<int>(count);
}

int Write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  static_cast<MemoryBio*>(BIO_get_data(bio))->output.append(bytes, static_cast<size_t>(size));
  return size;
}

long Control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int Create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

}  // namespace

StatusOr<BioMethodPtr> NewMemoryBioMethod() {
  BioMethodPtr method(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "kgpu memory"));
  if (method == nullptr || BIO_meth_set_read(method.get(), &Read) != 1 ||
      BIO_meth_set_write(method.get(), &Write) != 1 ||
      BIO_meth_set_ctrl(method.get(), &Control) != 1 ||
      BIO_meth_set_create(method.get(), &Create) != 1) {
    return ResourceExhausted("out of memory for TLS");
  }
  return method;
}

StatusOr<BioPtr> NewMemoryBio(const BIO_METHOD* method, MemoryBio& memory) {
  BioPtr bio(BIO_new(method));
  if (bio == nullptr) {
    return ResourceExhausted("out of memory for a TLS connection");
  }
  BIO_set_data(bio.get(), &memory);
  return bio;
}

}  // namespace kgpu::tls
