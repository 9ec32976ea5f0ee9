// Separately compiled parts of Asio, Asio's TLS and Beast, built once for all programs.
// Every file that includes Boost.Asio or Boost.Beast is compiled with BOOST_ASIO_SEPARATE_COMPILATION and
// BOOST_BEAST_SEPARATE_COMPILATION (wattle_asio in cmake/dependencies.cmake).
#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
