import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reads what the syncer stored as a Java control plane would: Jackson's ObjectMapper as it comes
 * (an unknown property is a failure), enums by valueOf, config sorted by String's natural order.
 * It shares no code with the syncer and speaks RESP itself, so both ends of the contract are
 * written twice. It only reads.
 *
 * <p>Usage: {@code ReadSpecs HOST PORT PREFIX EXPECTED}. The file EXPECTED has one fact a line,
 * tab-separated:
 *
 * <pre>
 * live    TENANT JOB VERSION HASH STATE ACTOR   in jobs at that version; HASH - = not known beforehand
 * past    TENANT JOB VERSION HASH         in the history
 * removed TENANT JOB VERSION              not in jobs any more; its last version
 * audit   TENANT JOB OP FROM TO           a row with allowed=true; - = no such field
 * </pre>
 *
 * Every record prints one line. Exit 1: something differs (all of it is on stderr), or there is
 * nothing to read.
 */
final class ReadSpecs {
  /** The fields of a stored job, all of them, in their order. */
  record JobSpec(
      String jobName,
      String tenant,
      String pipelineFactory,
      Map<String, String> config,
      int parallelism,
      long version,
      String description,
      String updatedBy,
      long updatedAt,
      String specHash) {}

  enum Op { SUBMIT, UPGRADE, ROLLBACK, STOP, RESUME, REPORT_STATUS }

  enum State { DESIRED_STOPPED, PENDING_DEPLOY, RUNNING, FAILED }

  record Fact(String kind, String tenant, String job, List<String> rest) {}

  private static final int HISTORY_CAP = 10;

  private final ObjectMapper mapper = new ObjectMapper();
  private final Redis redis;
  private final String prefix;
  private final List<Fact> facts;
  private final List<String> problems = new ArrayList<>();
  private final Set<String> known = new TreeSet<>();
  private int records;
  private int equal;
  private int rows;

  private ReadSpecs(Redis redis, String prefix, List<Fact> facts) {
    this.redis = redis;
    this.prefix = prefix;
    this.facts = facts;
  }

  public static void main(String[] args) {
    System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(System.err, true, StandardCharsets.UTF_8));
    if (args.length != 4) {
      System.err.println("usage: ReadSpecs HOST PORT PREFIX EXPECTED");
      System.exit(2);
    }
    List<String> problems;
    try (Redis redis = new Redis(args[0], Integer.parseInt(args[1]))) {
      ReadSpecs reader = new ReadSpecs(redis, args[2], readFacts(Path.of(args[3])));
      reader.readAll();
      problems = reader.problems;
      System.out.printf("interop: %d records read with Jackson, %d hashes equal, %d audit rows%n",
          reader.records, reader.equal, reader.rows);
    } catch (IOException e) {
      problems = List.of(e.toString());
    }
    problems.forEach(p -> System.err.println("interop: " + p));
    if (!problems.isEmpty()) {
      System.exit(1);
    }
  }

  private static List<Fact> readFacts(Path file) throws IOException {
    List<Fact> facts = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      List<String> cells = Arrays.asList(line.split("\t", -1));
      facts.add(new Fact(cells.get(0), cells.get(1), cells.get(2), cells.subList(3, cells.size())));
    }
    return facts;
  }

  private void readAll() throws IOException {
    Set<String> tenants = new TreeSet<>();
    facts.forEach(f -> tenants.add(f.tenant()));
    for (String tenant : tenants) {
      readTenant(tenant);
    }
    readAudit();
    known.add(prefix + "tenants");
    Set<String> named = new TreeSet<>(redis.strings("SMEMBERS", prefix + "tenants"));
    tenants.remove("default");
    check(named.equals(tenants), "the set tenants holds %s, not %s", named, tenants);
    checkStrayKeys();
    check(records > 0, "no record at all below %s", prefix);
  }

  /** T of the layout: empty for the tenant default. */
  private static String part(String tenant) {
    return tenant.equals("default") ? "" : tenant + ":";
  }

  private void readTenant(String tenant) throws IOException {
    Map<String, String> jobs = redis.map("HGETALL", keep(prefix + part(tenant) + "jobs"));
    Map<String, String> versions = redis.map("HGETALL", keep(prefix + part(tenant) + "versions"));
    check(!jobs.isEmpty(), "%s: no jobs", tenant);

    Map<String, JobSpec> live = new TreeMap<>();
    Map<String, List<JobSpec>> past = new TreeMap<>();
    for (String job : new TreeSet<>(jobs.keySet())) {
      JobSpec spec = bind(tenant, job, "jobs", jobs.get(job));
      if (spec != null) {
        live.put(job, spec);
        String version = Long.toString(spec.version());
        check(version.equals(versions.get(job)), "%s/%s: the hash versions says %s, the record %s",
            tenant, job, versions.get(job), version);
      }
    }
    for (String job : new TreeSet<>(versions.keySet())) {
      past.put(job, readHistory(tenant, job, versions.get(job), live.get(job)));
      readStatus(tenant, job, live.containsKey(job));
    }
    Set<String> expected = new TreeSet<>();
    for (Fact fact : facts) {
      if (fact.tenant().equals(tenant)) {
        compare(fact, live.get(fact.job()), past.getOrDefault(fact.job(), List.of()), versions.get(fact.job()));
        if (fact.kind().equals("live")) {
          expected.add(fact.job());
        }
      }
    }
    check(expected.equals(live.keySet()), "%s: jobs holds %s, not %s", tenant, live.keySet(), expected);
  }

  /** Binds one record, recomputes its hash and writes it again: the same bytes must come out. */
  private JobSpec bind(String tenant, String job, String where, String json) throws IOException {
    JobSpec spec;
    String again;
    try {
      spec = mapper.readValue(json, JobSpec.class);
      again = mapper.writeValueAsString(spec);
    } catch (JsonProcessingException e) {
      problems.add(String.format("%s/%s in %s: Jackson: %s", tenant, job, where, e.getOriginalMessage()));
      return null;
    }
    records++;
    String at = tenant + "/" + job + " v" + spec.version() + " in " + where;
    check(again.equals(json), "%s: bytes differ from Jackson's own%n  stored  %s%n  Jackson %s", at, json, again);
    check(job.equals(spec.jobName()) && tenant.equals(spec.tenant()), "%s names itself %s/%s", at, spec.tenant(), spec.jobName());
    check(spec.config() != null && spec.updatedBy() != null && spec.updatedAt() > 0, "%s: config, updatedBy or updatedAt is missing", at);
    if (spec.config() == null) {
      return null;
    }
    check(new ArrayList<>(spec.config().keySet()).equals(new ArrayList<>(new TreeMap<>(spec.config()).keySet())),
        "%s: config keys %s are not in String order", at, spec.config().keySet());
    String hash = hash(spec);
    boolean same = hash.equals(spec.specHash());
    check(same, "%s: specHash %s, Java computes %s", at, spec.specHash(), hash);
    equal += same ? 1 : 0;
    System.out.printf("  %-30s %s by %s%n", at, hash.substring(0, 12), spec.updatedBy());
    return spec;
  }

  /** lower-case hex SHA-256 of jobName|tenant|pipelineFactory| key=value; ... |parallelism|description */
  private static String hash(JobSpec s) {
    StringBuilder b = new StringBuilder();
    b.append(s.jobName()).append('|').append(s.tenant()).append('|').append(s.pipelineFactory()).append('|');
    new TreeMap<>(s.config()).forEach((key, value) -> b.append(key).append('=').append(shown(key, value)).append(';'));
    b.append('|').append(s.parallelism()).append('|').append(Objects.requireNonNullElse(s.description(), ""));
    try {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(b.toString().getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(sum);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  private static String shown(String key, String value) {
    boolean literal = key.startsWith("secret.") && !value.startsWith("env:") && !value.startsWith("sys:");
    return literal ? "***" : value;
  }

  /** The replaced versions: oldest first, without a gap, up to the one before what is there now. */
  private List<JobSpec> readHistory(String tenant, String job, String version, JobSpec live) throws IOException {
    List<JobSpec> past = new ArrayList<>();
    for (String json : redis.strings("LRANGE", keep(prefix + "history:" + part(tenant) + job), "0", "-1")) {
      JobSpec spec = bind(tenant, job, "history", json);
      if (spec != null) {
        past.add(spec);
      }
    }
    long last = Long.parseLong(version) - (live == null ? 0 : 1);
    List<Long> want = new ArrayList<>();
    for (long v = Math.max(1, last - HISTORY_CAP + 1); v <= last; v++) {
      want.add(v);
    }
    List<Long> have = past.stream().map(JobSpec::version).toList();
    check(have.equals(want), "%s/%s: the history holds versions %s, not %s", tenant, job, have, want);
    return past;
  }

  private void readStatus(String tenant, String job, boolean live) throws IOException {
    Map<String, String> status = redis.map("HGETALL", keep(prefix + "status:" + part(tenant) + job));
    String at = tenant + "/" + job;
    if (status.isEmpty()) {
      check(!live, "%s: no status", at);
      return;
    }
    State state = parse(State.class, status.get("state"), at + ": status");
    check(live || state == State.DESIRED_STOPPED, "%s: removed, but its status is %s", at, state);
    check(isNumber(status.get("updatedAt")), "%s: status updatedAt %s", at, status.get("updatedAt"));
  }

  private void compare(Fact fact, JobSpec live, List<JobSpec> past, String version) throws IOException {
    String at = fact.tenant() + "/" + fact.job();
    String want = fact.rest().get(0);
    switch (fact.kind()) {
      case "live" -> {
        check(live != null && want.equals(Long.toString(live.version())), "%s: jobs holds %s, not v%s", at, live, want);
        compareHash(at, fact.rest().get(1), live);
        String state = redis.map("HGETALL", prefix + "status:" + part(fact.tenant()) + fact.job()).get("state");
        check(fact.rest().get(2).equals(state), "%s: status %s, not %s", at, state, fact.rest().get(2));
        String actor = live == null ? null : live.updatedBy();
        check(fact.rest().get(3).equals(actor), "%s: updated by %s, not %s", at, actor, fact.rest().get(3));
      }
      case "past" -> {
        JobSpec found = past.stream().filter(s -> want.equals(Long.toString(s.version()))).findFirst().orElse(null);
        check(found != null, "%s: v%s is not in the history", at, want);
        compareHash(at, fact.rest().get(1), found);
      }
      case "removed" -> {
        check(live == null, "%s: was removed, and is in jobs", at);
        check(want.equals(version), "%s: was removed at v%s, versions says %s", at, want, version);
        check(!past.isEmpty(), "%s: was removed, and its history is empty", at);
      }
      default -> check(fact.kind().equals("audit"), "unknown fact %s", fact);
    }
  }

  private void compareHash(String at, String want, JobSpec spec) {
    if (spec != null && !want.equals("-")) {
      check(want.equals(spec.specHash()), "%s v%d: specHash %s, expected %s", at, spec.version(), spec.specHash(), want);
    }
  }

  /** Every row must be readable as the Java audit view reads it: one bad row would show none at all. */
  private void readAudit() throws IOException {
    List<Fact> missing = new ArrayList<>(facts.stream().filter(f -> f.kind().equals("audit")).toList());
    for (Object entry : (List<?>) redis.call("XRANGE", keep(prefix + "audit"), "-", "+")) {
      List<?> pair = (List<?>) entry;
      Map<String, String> row = Redis.toMap((List<?>) pair.get(1));
      String at = "audit " + pair.get(0);
      rows++;
      parse(Op.class, row.get("op"), at);
      check(isNumber(row.get("ts")), "%s: ts %s", at, row.get("ts"));
      check(List.of("true", "false").contains(row.getOrDefault("allowed", "")), "%s: allowed %s", at, row.get("allowed"));
      for (String field : List.of("tenant", "actor", "jobName", "detail")) {
        check(row.containsKey(field), "%s: no field %s", at, field);
      }
      for (String field : List.of("fromVersion", "toVersion")) {
        check(!row.containsKey(field) || isNumber(row.get(field)), "%s: %s %s", at, field, row.get(field));
      }
      missing.removeIf(f -> "true".equals(row.get("allowed"))
          && f.tenant().equals(row.get("tenant")) && f.job().equals(row.get("jobName"))
          && f.rest().equals(List.of(row.getOrDefault("op", ""), row.getOrDefault("fromVersion", "-"), row.getOrDefault("toVersion", "-"))));
    }
    check(rows > 0, "the audit stream is empty");
    missing.forEach(f -> problems.add("audit: no row for " + f));
  }

  /** Beside the keys of the Java layout only our own block may exist below the prefix. */
  private void checkStrayKeys() throws IOException {
    for (String key : redis.strings("KEYS", prefix + "*")) {
      check(known.contains(key) || key.startsWith(prefix + "pawl:"), "unexpected key %s", key);
    }
  }

  private String keep(String key) {
    known.add(key);
    return key;
  }

  private void check(boolean holds, String message, Object... args) {
    if (!holds) {
      problems.add(String.format(message, args));
    }
  }

  private <E extends Enum<E>> E parse(Class<E> type, String name, String at) {
    try {
      return Enum.valueOf(type, Objects.requireNonNullElse(name, ""));
    } catch (IllegalArgumentException e) {
      problems.add(at + ": " + type.getSimpleName() + " " + name + " is none of " + Arrays.toString(type.getEnumConstants()));
      return null;
    }
  }

  private static boolean isNumber(String s) {
    return s != null && s.matches("[0-9]{1,18}");
  }

  /** As much of RESP2 as reading needs. Strings must be well-formed UTF-8. */
  private static final class Redis implements AutoCloseable {
    private static final int TIMEOUT_MS = 10_000;
    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;

    Redis(String host, int port) throws IOException {
      socket.connect(new InetSocketAddress(host, port), TIMEOUT_MS);
      socket.setSoTimeout(TIMEOUT_MS);
      in = new BufferedInputStream(socket.getInputStream());
      out = new BufferedOutputStream(socket.getOutputStream());
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }

    Object call(String... words) throws IOException {
      out.write(("*" + words.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
      for (String word : words) {
        byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
        out.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        out.write(bytes);
        out.write('\r');
        out.write('\n');
      }
      out.flush();
      try {
        return reply();
      } catch (IOException e) {
        throw new IOException(String.join(" ", words) + ": " + e.getMessage(), e);
      }
    }

    List<String> strings(String... words) throws IOException {
      return ((List<?>) call(words)).stream().map(String.class::cast).toList();
    }

    Map<String, String> map(String... words) throws IOException {
      return toMap((List<?>) call(words));
    }

    static Map<String, String> toMap(List<?> flat) {
      Map<String, String> map = new LinkedHashMap<>();
      for (int i = 0; i < flat.size(); i += 2) {
        map.put((String) flat.get(i), (String) flat.get(i + 1));
      }
      return map;
    }

    private Object reply() throws IOException {
      String line = line();
      String rest = line.substring(1);
      switch (line.charAt(0)) {
        case '+':
          return rest;
        case ':':
          return Long.valueOf(rest);
        case '-':
          throw new IOException(rest);
        case '$':
          return bulk(Integer.parseInt(rest));
        case '*':
          List<Object> items = new ArrayList<>();
          for (int n = Integer.parseInt(rest); n > 0; n--) {
            items.add(reply());
          }
          return items;
        default:
          throw new IOException("not RESP2: " + line);
      }
    }

    private String bulk(int length) throws IOException {
      if (length < 0) {
        return null;
      }
      byte[] bytes = in.readNBytes(length);
      if (bytes.length < length || !line().isEmpty()) {
        throw new EOFException("reply cut off");
      }
      return StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(bytes)).toString();
    }

    private String line() throws IOException {
      ByteArrayOutputStream line = new ByteArrayOutputStream();
      for (int c = in.read(); c != '\r'; c = in.read()) {
        if (c < 0) {
          throw new EOFException("connection closed");
        }
        line.write(c);
      }
      if (in.read() != '\n') {
        throw new IOException("not RESP2: no line feed after a carriage return");
      }
      return line.toString(StandardCharsets.UTF_8);
    }
  }
}
