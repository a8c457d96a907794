package events

import "strings"

// Type is what happened.
type Type string

// What happens; [Described] says more of each.
const (
	TaskLaunched          Type = "task_launched"
	TaskUpdated           Type = "task_updated"
	TaskKillOrdered       Type = "task_kill_ordered"
	TaskEnded             Type = "task_ended"
	AgentRegistered       Type = "agent_registered"
	AgentUpdated          Type = "agent_updated"
	AgentDisconnected     Type = "agent_disconnected"
	AgentClosed           Type = "agent_closed"
	AgentOpened           Type = "agent_opened"
	FrameworkRegistered   Type = "framework_registered"
	FrameworkDisconnected Type = "framework_disconnected"
	FrameworkRemoved      Type = "framework_removed"
	RoleSet               Type = "role_set"
	LeaderElected         Type = "leader_elected"

	// What the matching does is told only while somebody asks for it by type.
	DemandWaiting  Type = "demand_waiting"
	OfferMade      Type = "offer_made"
	OfferAccepted  Type = "offer_accepted"
	OfferDeclined  Type = "offer_declined"
	OfferRescinded Type = "offer_rescinded"
	OfferExpired   Type = "offer_expired"

	// Restored says that the whole state was replaced: read it anew.
	Restored Type = "restored"
	// Begin is the first of every stream and says where it begins; what is
	// read after it holds everything up to there.
	Begin Type = "begin"
	// Gap says that events were left out: read the state anew.
	Gap Type = "gap"
)

// Types are those that can be asked for.
var Types = []Type{
	TaskLaunched, TaskUpdated, TaskKillOrdered, TaskEnded, AgentRegistered, AgentUpdated, AgentDisconnected, AgentClosed, AgentOpened,
	FrameworkRegistered, FrameworkDisconnected, FrameworkRemoved, RoleSet, LeaderElected,
	DemandWaiting, OfferMade, OfferAccepted, OfferDeclined, OfferRescinded, OfferExpired,
}

// kind is what a type is about.
func (t Type) kind() string {
	kind, _, _ := strings.Cut(string(t), "_")
	return kind
}

// OfMatching reports whether events of the type are told only to who asks for them.
func (t Type) OfMatching() bool { return t.kind() == "offer" || t.kind() == "demand" }

// Description is what there is to know of a type.
type Description struct {
	Type Type
	// Durable events are derived from what the masters agreed on, so every
	// master has them; the others are what a leader saw, and go with it.
	Durable bool
	Means   string
	// Fields are those that an event of the type may have beside id, type and
	// time, by their names in JSON.
	Fields []string
}

var offerFields = words("offer_id demand_id framework_id agent_id role resources devices")

// Described tells of every type, those that can be asked for first.
var Described = []Description{
	{TaskLaunched, true, "A task was accepted and is on its way to its agent.", words("framework_id task_id agent_id role name state resources devices")},
	{TaskUpdated, false, "Its agent said that a task starts, runs, is killed or is (not) healthy, or is away.", words("framework_id task_id agent_id role state reason message healthy")},
	{TaskKillOrdered, true, "Somebody wants a task to end.", words("framework_id task_id agent_id role reason")},
	{TaskEnded, true, "A task ended; its resources are free again.", words("framework_id task_id agent_id role state reason message exit_code signal resources devices")},
	{AgentRegistered, true, "An agent is new, or back.", words("agent_id name state resume")},
	{AgentUpdated, true, "An agent is in another state.", words("agent_id name state resume")},
	{AgentDisconnected, false, "The connection of an agent ended; it may be back at once.", words("agent_id")},
	{AgentClosed, false, "An agent can take no more tasks for now and is offered to nobody; message says why. Its tasks go on.", words("agent_id name message")},
	{AgentOpened, false, "An agent that was closed can take tasks again.", words("agent_id name")},
	{FrameworkRegistered, true, "A framework is new, or back.", words("framework_id name role")},
	{FrameworkDisconnected, true, "A framework is away, and removed at the deadline unless it comes back.", words("framework_id name role deadline")},
	{FrameworkRemoved, true, "A framework was removed, with all its tasks.", words("framework_id name role deadline")},
	{RoleSet, true, "The weight, quota or placement of a role changed.", words("role")},
	{LeaderElected, false, "A master began to lead.", words("name address term")},
	{DemandWaiting, false, "A demand began to wait, or waits for something else now: stopped says for what, reasons what is against how many agents. Demands are told only while somebody asks for them by type, those that wait already when the first one asks.", words("framework_id demand_id role count stopped reasons message")},
	{OfferMade, false, "A framework is offered room on an agent until the deadline. Offers are told only while somebody asks for them by type.", append(words("deadline ring"), offerFields...)},
	{OfferAccepted, false, "An offer was used; what its tasks hold is in their task_launched.", offerFields},
	{OfferDeclined, false, "An offer was given back.", offerFields},
	{OfferRescinded, false, "An offer was taken back.", append(words("reason"), offerFields...)},
	{OfferExpired, false, "Nobody answered to an offer in time.", offerFields},
	{Restored, true, "The whole state was replaced: read it anew. Every filter lets it through.", nil},
	{Begin, false, "The first of every stream: what is read after it holds everything up to there.", words("name address term")},
	{Gap, false, "Events were left out: read the state anew.", words("message lost")},
}

func words(text string) []string { return strings.Fields(text) }
