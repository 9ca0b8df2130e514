// OpenSSL's objects with owners. Private to this folder: no other header exposes OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace kgpu::tls {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using BioMethodPtr = std::unique_ptr<BIO_METHOD, Freer<BIO_meth_free>>;
using SslPtr = std::unique_ptr<SSL, Freer<SSL_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;

}  // namespace kgpu::tls
