// The protocol inside a TLS session, which client and server agree on in the handshake. Source: RFC
// 7301 (ALPN). Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/tls/openssl.h"

namespace kgpu::tls {

// Names as the handshake carries them: each after a byte with its size. Errors: InvalidArgument (a
// name is empty or longer than 255 bytes).
StatusOr<std::string> ProtocolList(const std::vector<std::string>& names);

// Makes a server's sessions answer offers, with the list of AcceptProtocols.
void AnswerOffers(SSL_CTX* context);
// The protocols of a server, best first, as ProtocolList; must outlive `ssl`. A client that offers
// only others is refused; one that offers none is served.
void AcceptProtocols(SSL* ssl, const std::string& list);
// What a client offers. Errors: ResourceExhausted.
Status OfferProtocols(SSL* ssl, const std::string& list);

// Empty without an agreement.
std::string AgreedProtocol(const SSL* ssl);

}  // namespace kgpu::tls
