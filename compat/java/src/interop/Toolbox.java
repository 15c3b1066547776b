package interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs command-line tools, any number at a time, in one JVM: starting one JVM for each costs seconds.
 *
 * <p>Standard input brings calls: a number of ours, the class, the number of arguments, the arguments, what the
 * tool reads. Standard output answers: the number, the exit code, what it printed, what it printed as errors. A tool sees
 * streams of its own (they follow its threads), and where it would end the process only its thread ends.
 */
public final class Toolbox {
  /** What one tool reads and prints, and how it ended. */
  private static final class Call {
    final InputStream in;
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    final ByteArrayOutputStream err = new ByteArrayOutputStream();
    volatile Integer code;

    Call(byte[] in) {
      this.in = new ByteArrayInputStream(in);
    }
  }

  /** Unwinds the thread of a tool that has ended. It prints as nothing: tools print what they catch. */
  @SuppressWarnings("serial")
  private static final class Ended extends Error {
    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }

    @Override
    public String toString() {
      return "";
    }
  }

  /** The tools' own classes anew for every call: some count in static fields. */
  private static final class OwnStatics extends URLClassLoader {
    OwnStatics() {
      super(CLASS_PATH, Toolbox.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        boolean own = name.startsWith("org.apache.kafka.tools.");
        Class<?> found = own ? findLoadedClass(name) : super.loadClass(name, resolve);
        return found == null ? findClass(name) : found;
      }
    }
  }

  private static final URL[] CLASS_PATH = toolsJars();
  private static final InheritableThreadLocal<Call> CALL = new InheritableThreadLocal<>();
  private static final PrintStream ERR = System.err;

  private Toolbox() {}

  public static void main(String[] args) throws IOException {
    var calls = new DataInputStream(System.in);
    var answers = new DataOutputStream(System.out);
    System.setIn(new InputStream() {
      @Override
      public int read() throws IOException {
        return CALL.get().in.read();
      }

      @Override
      public int read(byte[] into, int from, int length) throws IOException {
        return CALL.get().in.read(into, from, length);
      }
    });
    System.setOut(printsTo(false));
    System.setErr(printsTo(true));
    Exit.setExitProcedure((code, message) -> end(code));
    Exit.setHaltProcedure((code, message) -> end(code));
    Exit.setShutdownHookAdder((name, hook) -> { }); // the process goes on
    while (true) {
      int number;
      try {
        number = calls.readInt();
      } catch (EOFException e) {
        Runtime.getRuntime().halt(0); // whoever asked has gone, and so may tools that still run
        return;
      }
      String name = new String(bytes(calls), StandardCharsets.UTF_8);
      String[] arguments = new String[calls.readInt()];
      for (int n = 0; n < arguments.length; n++) {
        arguments[n] = new String(bytes(calls), StandardCharsets.UTF_8);
      }
      var call = new Call(bytes(calls));
      new Thread(() -> {
        CALL.set(call);
        run(name, arguments, call);
        answer(answers, number, call);
      }, name).start();
    }
  }

  private static void run(String name, String[] arguments, Call call) {
    try (var loader = new OwnStatics()) {
      loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      if (!(e.getCause() instanceof Ended)) {
        e.getCause().printStackTrace();
        call.code = call.code == null ? 1 : call.code; // as the JVM does with what nobody caught
      }
    } catch (ReflectiveOperationException | IOException e) {
      e.printStackTrace();
      call.code = 1;
    }
  }

  private static void end(int code) {
    Call call = CALL.get();
    if (call.code == null) { // a tool that catches everything ends a second time
      call.code = code;
    }
    throw new Ended();
  }

  private static void answer(DataOutputStream answers, int number, Call call) {
    try {
      synchronized (answers) {
        answers.writeInt(number);
        answers.writeInt(call.code == null ? 0 : call.code);
        for (var printed : new ByteArrayOutputStream[] {call.out, call.err}) {
          answers.writeInt(printed.size());
          printed.writeTo(answers);
        }
        answers.flush();
      }
    } catch (IOException e) {
      Runtime.getRuntime().halt(1);
    }
  }

  private static URL[] toolsJars() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(path -> path.contains("kafka-tools-"))
        .map(path -> {
          try {
            return new File(path).toURI().toURL();
          } catch (MalformedURLException e) {
            throw new IllegalArgumentException(e);
          }
        }).toArray(URL[]::new);
  }

  private static byte[] bytes(DataInputStream from) throws IOException {
    return from.readNBytes(from.readInt());
  }

  private static PrintStream printsTo(boolean err) {
    return new PrintStream(new OutputStream() {
      private OutputStream target() {
        Call call = CALL.get();
        return call == null ? ERR : err ? call.err : call.out;
      }

      @Override
      public void write(int one) throws IOException {
        target().write(one);
      }

      @Override
      public void write(byte[] some, int from, int length) throws IOException {
        target().write(some, from, length);
      }
    }, true);
  }
}
