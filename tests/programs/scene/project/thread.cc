// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <thread>

int main()
{
	std::thread([] { std::cout << "from a thread\n"; }).join();
	try {
		throw 3;
	} catch (int n) {
		return n;
	}
}
