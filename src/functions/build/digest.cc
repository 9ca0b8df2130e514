#include "src/functions/build/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <string>

namespace kgpu::functions {

class Digest::Impl {
 public:
  Impl() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Update(std::string_view bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), value.data(), &size);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
      fmt::format_to(std::back_inserter(hex), "{:02x}", value[i]);
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

Digest::Digest() : impl_(std::make_unique<Impl>()) {
}
Digest::~Digest() = default;

void Digest::AddBytes(std::string_view bytes) {
  impl_->Update(bytes);
}

void Digest::Add(std::string_view value) {
  impl_->Update(fmt::format("{}:", value.size()));
  impl_->Update(value);
}

std::string Digest::Hex() {
  return impl_->Hex();
}

}  // namespace kgpu::functions
