// SPDX-License-Identifier: Apache-2.0
public class Hello {
	public static void main(String[] arguments) throws Exception {
		Thread thread = new Thread(() -> System.out.println("from a thread"));
		thread.start();
		thread.join();
		Process child = new ProcessBuilder("echo", "from a child").inheritIO().start();
		System.exit(child.waitFor() + 5);
	}
}
