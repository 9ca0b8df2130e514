// A server's connection with TLS: what comes within it is answered as the same bytes without it,
// and what is no TLS only ends it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/net/http/server_line.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/net/tls/session.h"
#include "testing/tls/certificates.h"

namespace {

using kgpu::WallTime;
using kgpu::http::kHttp2Preface;
using kgpu::http::LineOptions;
using kgpu::http::OutputQueue;
using kgpu::http::Phase;
using kgpu::http::ServerConnection;
using kgpu::http::ServerLine;
using kgpu::tls::Context;
using kgpu::tls::Session;

constexpr kgpu::http::ParserLimits kLimits{.header = 1024, .body = 4096};

struct Contexts {
  std::shared_ptr<const Context> server;
  std::shared_ptr<const Context> client;
};

const Contexts& TheContexts() {
  static const Contexts contexts = [] {
    const kgpu::TestAuthority authority;
    const kgpu::TestCertificate leaf = authority.Issue({.names = {"server"}});
    return Contexts{
        Context::ForServer({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
            .value(),
        Context::ForClient({.ca_pem = authority.certificate_pem()}).value()};
  }();
  return contexts;
}

// One end of a connection that answers each request with its path.
class Server {
 public:
  explicit Server(std::unique_ptr<Session> session, const LineOptions& options = {})
      : line_(http_, std::move(session), options) {}

  void Receive(std::string_view bytes) {
    if (!bytes.empty() && (http_.wants_input() || line_.is_shaking_hands())) {
      line_.Receive(bytes, WallTime());
    }
  }
  std::string Send() {
    std::string sent;
    do {
      if (http_.phase() == Phase::kReady) {
        const kgpu::http::Request request = http_.TakeRequest();
        http_.Respond(kgpu::http::TextResponse(200, request.path), WallTime());
      }
      line_.Fill();
      TakeWire(sent);
    } while (http_.phase() == Phase::kReady);
    return sent;
  }
  bool is_shaking_hands() const { return line_.is_shaking_hands(); }
  bool is_http2() const { return line_.is_http2(); }
  std::string TakeFirstBytes() { return line_.TakeFirstBytes(); }

 private:
  void TakeWire(std::string& sent) {
    while (!line_.wire().empty()) {
      std::array<iovec, OutputQueue::kMaxPieces> pieces{};
      const size_t count = line_.wire().Fill(pieces);
      size_t size = 0;
      for (size_t i = 0; i < count; ++i) {
        sent.append(static_cast<const char*>(pieces.at(i).iov_base), pieces.at(i).iov_len);
        size += pieces.at(i).iov_len;
      }
      line_.wire().Consume(size);
      line_.Fill();
    }
  }

  ServerConnection http_{kLimits};
  ServerLine line_;
};

std::unique_ptr<Session> NewServerSession() {
  return Session::ForServer(TheContexts().server).value();
}

// The answer to a client within TLS that sends `text` in pieces.
std::string AskWithin(std::string_view text, size_t piece) {
  Server server(NewServerSession());
  const auto client = Session::ForClient(TheContexts().client, "server").value();
  std::string answer;
  const auto exchange = [&] {
    server.Receive(client->TakeOutput());
    const kgpu::Status status = client->Feed(server.Send());
    answer += client->TakeInput();
    return status.ok();
  };
  for (int i = 0; i < 4 && (server.is_shaking_hands() || !client->is_open()); ++i) {
    if (!exchange()) {
      std::abort();
    }
  }
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!client->Write(text.substr(at, piece)).ok()) {
      std::abort();
    }
    (void)exchange();
  }
  return answer;
}

std::string AskPlainly(Server& server, std::string_view text, size_t piece) {
  std::string answer = server.Send();
  for (size_t at = 0; at < text.size(); at += piece) {
    server.Receive(text.substr(at, piece));
    answer += server.Send();
  }
  return answer;
}

// Where HTTP/2 may come too, only its preface makes a difference.
void CheckThatOnlyThePrefaceMatters(std::string_view text, size_t piece,
                                    std::string_view answer_of_http1) {
  Server server(nullptr, {.may_be_http2 = true});
  const std::string answer = AskPlainly(server, text, piece);
  if (text.starts_with(kHttp2Preface)) {
    if (!server.is_http2() || !answer.empty() || server.TakeFirstBytes() != text) {
      std::abort();
    }
  } else if (server.is_http2() || (!kHttp2Preface.starts_with(text) && answer != answer_of_http1)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 8192) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] < 128) {
    Server server(NewServerSession());
    server.Receive(text);
    (void)server.Send();
    server.Receive(text);
    (void)server.Send();
    return 0;
  }
  const size_t piece = static_cast<size_t>(data[0] - 128) * 8 + 16;
  Server plain(nullptr);
  const std::string answer = AskPlainly(plain, text, piece);
  if (AskWithin(text, piece) != answer) {
    std::abort();
  }
  // Where both are taken, a method's first letter tells.
  if (text.front() >= 'A' && text.front() <= 'Z') {
    Server both(NewServerSession(), {.takes_plain = true});
    if (AskPlainly(both, text, piece) != answer) {
      std::abort();
    }
  }
  CheckThatOnlyThePrefaceMatters(text, piece, answer);
  return 0;
}
