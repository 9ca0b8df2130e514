// One gRPC call by Debian's client, over TCP: with TLS if an authority's certificate is named. A
// program of its own, since the library with TLS brings a second OpenSSL.
//   port-grpc-client HOST:PORT MESSAGE [CA_FILE]
// Prints the status code, then its text or the answer.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>

namespace {

constexpr std::chrono::seconds kLimit{30};

std::shared_ptr<grpc::Channel> Connect(const std::string& address, const std::string& ca_file) {
  if (ca_file.empty()) {
    return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  std::ifstream file(ca_file);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  return grpc::CreateChannel(address, grpc::SslCredentials(options));
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() < 3) {
    std::cerr << "usage: port-grpc-client HOST:PORT MESSAGE [CA_FILE]\n";
    return 2;
  }
  grpc::GenericStub stub(Connect(arguments[1], arguments.size() > 3 ? arguments[3] : ""));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLimit);
  const grpc::Slice slice(arguments[2]);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/test.Echo/Call", grpc::StubOptions(), &request, &reply,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  grpc::Slice whole;
  std::string text = status.error_message();
  if (status.ok() && reply.DumpToSingleSlice(&whole).ok()) {
    text.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  std::cout << status.error_code() << " " << text << "\n";
  return 0;
}
