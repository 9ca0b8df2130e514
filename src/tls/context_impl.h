// What a Context is made of, for Session.
#pragma once

#include "src/tls/context.h"
#include "src/tls/openssl.h"

namespace kgpu::tls {

struct Context::Impl {
  SslCtxPtr ssl;
  BioMethodPtr bio;  // of sessions: see session.cc
};

}  // namespace kgpu::tls
