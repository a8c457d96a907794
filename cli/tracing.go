package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ringmaster-project/ringmaster/offers"
)

// flushPatience is how long the end of a daemon waits for its last spans.
const flushPatience = time.Second

// spansWaiting is how many spans wait for the collector at most, unless
// OTEL_BSP_MAX_QUEUE_SIZE says otherwise.
const spansWaiting = sdk.DefaultMaxQueueSize

// otlpEndpoint reads the collector's URL.
func otlpEndpoint(s *settings, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not a URL such as http://127.0.0.1:4318", text)
	}
	s.otlp = text
	return nil
}

// traces reports whether a daemon is to trace: a collector is named, and
// OpenTelemetry's own variables don't forbid it.
func (s *settings) traces() bool {
	named := s.otlp != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	return named && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") && os.Getenv("OTEL_TRACES_EXPORTER") != "none"
}

// tracer hands spans to a collector by OTLP over HTTP. Whatever becomes of
// that, Record never waits: at most limit spans are kept for the collector, and
// what comes on top is dropped. The SDK's goroutine is ended by stop.
type tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	log      hclog.Logger
	exporter sdk.SpanExporter
	next     sdk.SpanProcessor // the SDK's queue, which has room for limit
	limit    int64

	waiting, delivered, failed, dropped atomic.Int64
	failing                             bool // owned by the SDK's goroutine
}

var _ offers.Tracer = (*tracer)(nil)

// openTracer returns the tracer of a daemon and what ends it; both do nothing,
// and the tracer is nil, where s does not trace.
func openTracer(s *settings, kind string, log hclog.Logger) (offers.Tracer, func(), error) {
	if !s.traces() {
		return nil, func() {}, nil
	}
	if p := os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; spans are sent by http/protobuf only", p)
	}
	var options []otlptracehttp.Option
	if s.otlp != "" {
		options = append(options, otlptracehttp.WithEndpointURL(tracesURL(s.otlp)))
	}
	exporter, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, nil, fmt.Errorf("otlp_endpoint: %w", err)
	}
	t, err := newTracer(exporter, s, kind, log)
	if err != nil {
		return nil, nil, err
	}
	return t, t.stop, nil
}

// tracesURL adds the usual path to a URL that has none.
func tracesURL(base string) string {
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		return u.JoinPath("v1", "traces").String()
	}
	return base
}

func newTracer(exporter sdk.SpanExporter, s *settings, kind string, log hclog.Logger) (*tracer, error) {
	limit := spansWaiting
	if text := os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE"); text != "" {
		n, err := wholeNumber(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("OTEL_BSP_MAX_QUEUE_SIZE is %q; it is a number from 1 on", text)
		}
		limit = n
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(
			attribute.String("service.name", "ringmaster-"+kind), attribute.String("service.version", Version), attribute.String("service.instance.id", s.name)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &tracer{log: log, exporter: exporter, limit: int64(limit)}
	t.next = sdk.NewBatchSpanProcessor(delivery{t}, sdk.WithMaxQueueSize(limit))
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithIDGenerator(namedSpans{}), sdk.WithSpanProcessor(gate{t}))
	t.tracer = t.provider.Tracer("github.com/ringmaster-project/ringmaster")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("OpenTelemetry complains", "error", err) }))
	return t, nil
}

// stop sends what waits, for as long as flushPatience, and ends.
func (t *tracer) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans may be lost", "error", err)
	}
}

// Root implements [offers.Tracer]. The sampler decides by a span that is never
// ended; the one of its name comes with Record.
func (t *tracer) Root() offers.Traceparent {
	_, span := t.tracer.Start(context.Background(), "task", trace.WithNewRoot())
	c := span.SpanContext()
	if !c.IsSampled() {
		return ""
	}
	return offers.Traceparent(fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags()))
}

// Record implements [offers.Tracer].
func (t *tracer) Record(s offers.Span) {
	ctx := context.Background()
	if s.Parent != "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(s.Parent))
	}
	if s.Self != "" {
		ctx = context.WithValue(ctx, selfKey{}, s.Self)
	}
	_, span := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(attributesOf(&s)...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.End))
}

func attributesOf(s *offers.Span) []attribute.KeyValue {
	var out []attribute.KeyValue
	add := func(name, value string) {
		if value != "" {
			out = append(out, attribute.String("ringmaster."+name, value))
		}
	}
	add("task.id", string(s.Task.Task))
	add("framework.id", string(s.Task.Framework))
	add("agent.id", string(s.Agent))
	add("demand.id", string(s.Demand))
	add("task.state", string(s.State))
	for name, value := range s.More {
		add(name, value)
	}
	return out
}

// Counts implements [offers.Tracer].
func (t *tracer) Counts() (delivered, failed, dropped uint64) {
	return uint64(t.delivered.Load()), uint64(t.failed.Load()), uint64(t.dropped.Load())
}

func spanContext(p offers.Traceparent) trace.SpanContext {
	id, span := p.IDs()
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true})
}

// selfKey is under which a context holds the name that a span must have.
type selfKey struct{}

// namedSpans gives a span the name that its context has, or a random one.
type namedSpans struct{}

var _ sdk.IDGenerator = namedSpans{}

// NewIDs implements [sdk.IDGenerator].
func (namedSpans) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if self, ok := ctx.Value(selfKey{}).(offers.Traceparent); ok {
		id, span := self.IDs()
		return id, span
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, namedSpans{}.NewSpanID(ctx, id)
}

// NewSpanID implements [sdk.IDGenerator].
func (namedSpans) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if self, ok := ctx.Value(selfKey{}).(offers.Traceparent); ok {
		_, span := self.IDs()
		return span
	}
	var span trace.SpanID
	_, _ = rand.Read(span[:]) // never fails
	return span
}

// gate keeps the SDK's queue from running over, and counts what it turns away.
type gate struct{ *tracer }

// OnStart implements [sdk.SpanProcessor].
func (gate) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor].
func (g gate) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if g.waiting.Add(1) > g.limit {
		g.waiting.Add(-1)
		g.dropped.Add(1)
		return
	}
	g.next.OnEnd(s)
}

// Shutdown implements [sdk.SpanProcessor].
func (g gate) Shutdown(ctx context.Context) error { return g.next.Shutdown(ctx) }

// ForceFlush implements [sdk.SpanProcessor].
func (g gate) ForceFlush(ctx context.Context) error { return g.next.ForceFlush(ctx) }

// delivery counts what becomes of spans, and says when that changes.
type delivery struct{ *tracer }

// ExportSpans implements [sdk.SpanExporter].
func (d delivery) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := d.exporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	d.waiting.Add(-n)
	if err != nil {
		d.tracer.failed.Add(n)
	} else {
		d.delivered.Add(n)
	}
	switch {
	case err != nil && !d.failing && !errors.Is(err, context.Canceled):
		d.log.Warn("spans are not taken by the collector; they are counted as failed, and nothing waits for it", "error", err)
	case err == nil && d.failing:
		d.log.Info("the collector takes spans again")
	}
	d.failing = err != nil
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (d delivery) Shutdown(ctx context.Context) error { return d.exporter.Shutdown(ctx) }
