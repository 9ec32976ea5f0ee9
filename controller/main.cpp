#include "controller/app.hpp"

int main(int argc, char** argv) { return wattle::controller::run_app(argc, argv); }
