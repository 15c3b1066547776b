// Runs every check of franz-go's share consumer against one broker and prints a line each: PASS or FAIL, the name,
// the milliseconds, what was wrong. tests/interop/test_share_franz_go.py makes a test of each.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const wait = 60 * time.Second

// at is what a check works with: the broker, and names nobody used before.
type at struct {
	address string
	prefix  string
	names   atomic.Int64
	admin   *kgo.Client
}

var checks = map[string]func(*at) error{
	"everything_is_read_once":                    readOnce,
	"accept_release_and_reject":                  threeWays,
	"polling_again_accepts":                      pollAccepts,
	"closing_gives_back":                         closeGivesBack,
	"renewing_keeps_a_record_beyond_its_lease":   renew,
	"a_lease_that_ran_out_is_told":               leaseRunsOut,
	"the_limit_of_records_is_exact":              exactLimit,
	"many_members_share_one_partition":           manyMembers,
	"the_last_delivery_is_the_last":              lastDelivery,
	"groups_are_described_and_deleted":           described,
	"offsets_are_altered_described_and_deleted":  offsets,
	"a_member_joins_a_group_and_a_topic_is_late": lateTopic,
}

// BROKER PREFIX [CHECK...]: the address, what every name begins with, and which checks if not all.
func main() {
	admin, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]), kgo.AllowAutoTopicCreation())
	if err != nil {
		panic(err)
	}
	defer admin.Close()
	here := &at{address: os.Args[1], prefix: os.Args[2], admin: admin}
	var all sync.WaitGroup
	for name, check := range checks {
		if len(os.Args) > 3 && !slices.Contains(os.Args[3:], name) {
			continue
		}
		all.Add(1)
		go func() {
			defer all.Done()
			start := time.Now()
			err := check(here)
			outcome, wrong := "PASS", ""
			if err != nil {
				outcome, wrong = "FAIL", strings.ReplaceAll(err.Error(), "\n", " ")
			}
			fmt.Printf("%s\t%s\t%d\t%s\n", outcome, name, time.Since(start).Milliseconds(), wrong)
		}()
	}
	all.Wait()
}

func (here *at) fresh(kind string) string {
	return fmt.Sprintf("%s-%s-%d", here.prefix, kind, here.names.Add(1))
}

func (here *at) topic(partitions int32) (string, error) {
	name := here.fresh("topic")
	return name, here.createTopic(name, partitions)
}

func (here *at) createTopic(name string, partitions int32) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(context.Background(), here.admin)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

// group begins with the first record, and has whatever other settings are given as pairs.
func (here *at) group(pairs ...string) (string, error) {
	name := here.fresh("group")
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
	pairs = append(pairs, "share.auto.offset.reset", "earliest")
	for n := 0; n < len(pairs); n += 2 {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value = pairs[n], &pairs[n+1]
		resource.Configs = append(resource.Configs, config)
	}
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(context.Background(), here.admin)
	if err != nil {
		return "", err
	}
	return name, kerr.ErrorForCode(response.Resources[0].ErrorCode)
}

// produce writes 0, 1, 2 ... to one partition, each a batch of its own or all in one.
func (here *at) produce(topic string, partition int32, count int, oneByOne bool) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(here.address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for n := range count {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "%d", n)})
	}
	if !oneByOne {
		return client.ProduceSync(context.Background(), records...).FirstErr()
	}
	for _, record := range records {
		if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// filled is a topic with one partition of so many records, and a group.
func (here *at) filled(count int, pairs ...string) (topic, group string, err error) {
	if topic, err = here.topic(1); err != nil {
		return
	}
	if group, err = here.group(pairs...); err != nil {
		return
	}
	return topic, group, here.produce(topic, 0, count, true)
}

func (here *at) member(group, topic string, options ...kgo.Opt) (*kgo.Client, error) {
	all := append([]kgo.Opt{kgo.SeedBrokers(here.address), kgo.ShareGroup(group), kgo.ConsumeTopics(topic)}, options...)
	return kgo.NewClient(all...)
}

// take polls until it has so many records and answers each.
func take(member *kgo.Client, count int, answer func(*kgo.Record) kgo.AckStatus) ([]*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var taken []*kgo.Record
	for len(taken) < count {
		fetches := member.PollFetches(ctx)
		if ctx.Err() != nil {
			return taken, fmt.Errorf("%d of %d records", len(taken), count)
		}
		if err := fetches.Err(); err != nil {
			return taken, err
		}
		for _, record := range fetches.Records() {
			if status := answer(record); status != 0 {
				record.Ack(status)
			}
			taken = append(taken, record)
		}
	}
	return taken, nil
}

func always(status kgo.AckStatus) func(*kgo.Record) kgo.AckStatus {
	return func(*kgo.Record) kgo.AckStatus { return status }
}

func flush(member *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return member.FlushAcks(ctx)
}

func same(what string, expected, got any) error {
	if fmt.Sprint(expected) != fmt.Sprint(got) {
		return fmt.Errorf("%s: expected %v, got %v", what, expected, got)
	}
	return nil
}

// lag is what a group has left in partition 0; -1 when it cannot be told.
func (here *at) lag(group, topic string) (int64, error) {
	about := kmsg.NewDescribeShareGroupOffsetsRequestGroupTopic()
	about.Topic, about.Partitions = topic, []int32{0}
	of := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
	of.GroupID = group
	of.Topics = append(of.Topics, about)
	request := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	request.Groups = append(request.Groups, of)
	response, err := request.RequestWith(context.Background(), here.admin)
	if err != nil {
		return -1, err
	}
	answer := response.Groups[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return -1, err
	}
	return answer.Topics[0].Partitions[0].Lag, nil
}

func (here *at) awaitLag(group, topic string, left int64) error {
	var seen int64
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if seen, err = here.lag(group, topic); err != nil {
			return err
		}
		if seen == left {
			return nil
		}
	}
	return same("lag of "+group, left, seen)
}

func readOnce(here *at) error {
	topic, err := here.topic(3)
	if err != nil {
		return err
	}
	group, err := here.group()
	if err != nil {
		return err
	}
	for partition := range int32(3) {
		if err := here.produce(topic, partition, 200, false); err != nil {
			return err
		}
	}
	member, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer member.Close()
	records, err := take(member, 600, always(kgo.AckAccept))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, record := range records {
		seen[fmt.Sprintf("%d/%s", record.Partition, record.Value)] = true
	}
	return errors.Join(same("records", 600, len(records)), same("different ones", 600, len(seen)), flush(member))
}

func threeWays(here *at) error {
	topic, group, err := here.filled(9)
	if err != nil {
		return err
	}
	var told atomic.Int64
	hear := kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
		if results.Ok() {
			told.Add(int64(len(results)))
		}
	})
	member, err := here.member(group, topic, hear)
	if err != nil {
		return err
	}
	defer member.Close()
	ways := []kgo.AckStatus{kgo.AckAccept, kgo.AckRelease, kgo.AckReject}
	var again []string
	seen := 0
	_, err = take(member, 12, func(record *kgo.Record) kgo.AckStatus {
		seen++
		if record.DeliveryCount() > 1 {
			again = append(again, fmt.Sprintf("%d:%d", record.Offset, record.DeliveryCount()))
			return kgo.AckAccept
		}
		return ways[record.Offset%3]
	})
	if err != nil {
		return err
	}
	if err := flush(member); err != nil {
		return err
	}
	if told.Load() == 0 {
		return errors.New("the callback was not told")
	}
	return errors.Join(same("deliveries", 12, seen), same("again", []string{"1:2", "4:2", "7:2"}, again), here.awaitLag(group, topic, 0))
}

func pollAccepts(here *at) error {
	topic, group, err := here.filled(5)
	if err != nil {
		return err
	}
	member, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer member.Close()
	if _, err := take(member, 5, always(0)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	member.PollFetches(ctx)
	return errors.Join(flush(member), here.awaitLag(group, topic, 0))
}

func closeGivesBack(here *at) error {
	topic, group, err := here.filled(10)
	if err != nil {
		return err
	}
	first, err := here.member(group, topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var held []*kgo.Record
	for len(held) == 0 && ctx.Err() == nil {
		held = first.PollFetches(ctx).Records()
	}
	for _, record := range held[:len(held)/2] {
		record.Ack(kgo.AckAccept)
	}
	accepted := len(held) / 2
	first.Close()
	second, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer second.Close()
	records, err := take(second, 10-accepted, always(kgo.AckAccept))
	if err != nil {
		return err
	}
	return errors.Join(same("records", 10-accepted, len(records)), flush(second), here.awaitLag(group, topic, 0))
}

func renew(here *at) error {
	topic, group, err := here.filled(1, "share.record.lock.duration.ms", "1500")
	if err != nil {
		return err
	}
	member, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer member.Close()
	records, err := take(member, 1, always(0))
	if err != nil {
		return err
	}
	// the client takes one renewal of a record between two polls
	time.Sleep(time.Second)
	records[0].Ack(kgo.AckRenew)
	if err := flush(member); err != nil {
		return err
	}
	time.Sleep(time.Second) // the first lease is over
	records[0].Ack(kgo.AckAccept)
	return errors.Join(flush(member), same("deliveries", 1, records[0].DeliveryCount()), here.awaitLag(group, topic, 0))
}

func leaseRunsOut(here *at) error {
	topic, group, err := here.filled(1, "share.record.lock.duration.ms", "1000")
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	var told error
	hear := kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
		mutex.Lock()
		defer mutex.Unlock()
		told = errors.Join(told, results.Error())
	})
	late, err := here.member(group, topic, hear)
	if err != nil {
		return err
	}
	defer late.Close()
	records, err := take(late, 1, always(0))
	if err != nil {
		return err
	}
	next, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer next.Close()
	again, err := take(next, 1, always(0))
	if err != nil {
		return err
	}
	records[0].Ack(kgo.AckAccept)
	again[0].Ack(kgo.AckAccept)
	if err := errors.Join(flush(late), flush(next)); err != nil {
		return err
	}
	mutex.Lock()
	defer mutex.Unlock()
	if told != nil && !errors.Is(told, kerr.InvalidRecordState) {
		return told
	}
	// the client may have kept the late word back itself: then nobody was told, and nothing was taken
	if count := again[0].DeliveryCount(); count < 2 {
		return fmt.Errorf("delivered %d times", count)
	}
	return here.awaitLag(group, topic, 0)
}

func exactLimit(here *at) error {
	topic, err := here.topic(1)
	if err != nil {
		return err
	}
	group, err := here.group()
	if err != nil {
		return err
	}
	if err := here.produce(topic, 0, 20, false); err != nil {
		return err
	}
	member, err := here.member(group, topic, kgo.ShareMaxRecords(5), kgo.ShareMaxRecordsStrict())
	if err != nil {
		return err
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var sizes []int
	for total := 0; total < 20; {
		records := member.PollFetches(ctx).Records()
		if ctx.Err() != nil {
			return fmt.Errorf("%v", sizes)
		}
		if len(records) > 0 {
			sizes, total = append(sizes, len(records)), total+len(records)
		}
		for _, record := range records {
			record.Ack(kgo.AckAccept)
		}
	}
	return errors.Join(same("polls", []int{5, 5, 5, 5}, sizes), flush(member), here.awaitLag(group, topic, 0))
}

func manyMembers(here *at) error {
	const members, total = 5, 200
	topic, group, err := here.filled(0)
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	seen := map[int64]int{}
	counts := make([]int, members)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var all sync.WaitGroup
	var failed atomic.Value
	for number := range members {
		all.Add(1)
		go func() {
			defer all.Done()
			member, err := here.member(group, topic, kgo.ShareMaxRecords(1), kgo.ShareMaxRecordsStrict())
			if err != nil {
				failed.Store(err)
				return
			}
			defer member.Close()
			for ctx.Err() == nil {
				poll, stop := context.WithTimeout(ctx, 500*time.Millisecond)
				records := member.PollFetches(poll).Records()
				stop()
				mutex.Lock()
				for _, record := range records {
					record.Ack(kgo.AckAccept)
					seen[record.Offset]++
					counts[number]++
				}
				done := len(seen) == total
				mutex.Unlock()
				if done {
					return
				}
			}
		}()
	}
	if err := here.produce(topic, 0, total, true); err != nil {
		return err
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		return err
	}
	sum := 0
	for _, count := range counts {
		if count == 0 {
			return fmt.Errorf("a member got nothing: %v", counts)
		}
		sum += count
	}
	return errors.Join(same("deliveries", total, sum), here.awaitLag(group, topic, 0))
}

func lastDelivery(here *at) error {
	topic, group, err := here.filled(1, "share.delivery.count.limit", "3")
	if err != nil {
		return err
	}
	member, err := here.member(group, topic)
	if err != nil {
		return err
	}
	defer member.Close()
	var deliveries []string
	_, err = take(member, 3, func(record *kgo.Record) kgo.AckStatus {
		deliveries = append(deliveries, fmt.Sprintf("%d:%d", record.Offset, record.DeliveryCount()))
		return kgo.AckRelease
	})
	if err != nil {
		return err
	}
	return errors.Join(flush(member), same("deliveries", []string{"0:1", "0:2", "0:3"}, deliveries), here.awaitLag(group, topic, 0))
}

func described(here *at) error {
	topic, group, err := here.filled(1)
	if err != nil {
		return err
	}
	member, err := here.member(group, topic, kgo.ClientID("worker"))
	if err != nil {
		return err
	}
	if _, err := take(member, 1, always(kgo.AckAccept)); err != nil {
		member.Close()
		return err
	}
	request := kmsg.NewPtrShareGroupDescribeRequest()
	request.GroupIDs = []string{group}
	response, err := request.RequestWith(context.Background(), here.admin)
	if err != nil {
		member.Close()
		return err
	}
	found := response.Groups[0]
	live := same("state and members", "Stable 1", fmt.Sprintf("%s %d", found.GroupState, len(found.Members)))
	if len(found.Members) == 1 {
		live = errors.Join(live, same("client", "worker", found.Members[0].ClientID))
	}
	refused := here.deleteGroup(group)
	member.Close()
	if !errors.Is(refused, kerr.NonEmptyGroup) {
		return errors.Join(live, fmt.Errorf("deleting a live group: %v", refused))
	}
	return errors.Join(live, here.deleteGroup(group))
}

func (here *at) deleteGroup(group string) error {
	request := kmsg.NewPtrDeleteGroupsRequest()
	request.Groups = []string{group}
	response, err := request.RequestWith(context.Background(), here.admin)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Groups[0].ErrorCode)
}

func offsets(here *at) error {
	topic, group, err := here.filled(10)
	if err != nil {
		return err
	}
	partition := kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()
	partition.Partition, partition.StartOffset = 0, 7
	about := kmsg.NewAlterShareGroupOffsetsRequestTopic()
	about.Topic = topic
	about.Partitions = append(about.Partitions, partition)
	alter := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	alter.GroupID = group
	alter.Topics = append(alter.Topics, about)
	altered, err := alter.RequestWith(context.Background(), here.admin)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(altered.ErrorCode); err != nil {
		return err
	}
	if err := kerr.ErrorForCode(altered.Topics[0].Partitions[0].ErrorCode); err != nil {
		return err
	}
	if err := here.awaitLag(group, topic, 3); err != nil {
		return err
	}
	gone := kmsg.NewDeleteShareGroupOffsetsRequestTopic()
	gone.Topic = topic
	remove := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
	remove.GroupID = group
	remove.Topics = append(remove.Topics, gone)
	removed, err := remove.RequestWith(context.Background(), here.admin)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(removed.ErrorCode); err != nil {
		return err
	}
	if err := kerr.ErrorForCode(removed.Topics[0].ErrorCode); err != nil {
		return err
	}
	return here.awaitLag(group, topic, -1)
}

func lateTopic(here *at) error {
	group, err := here.group()
	if err != nil {
		return err
	}
	late := here.fresh("late")
	member, err := here.member(group, late, kgo.MetadataMinAge(200*time.Millisecond), kgo.MetadataMaxAge(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	member.PollFetches(ctx)
	if err := here.createTopic(late, 2); err != nil {
		return err
	}
	if err := errors.Join(here.produce(late, 0, 3, false), here.produce(late, 1, 3, false)); err != nil {
		return err
	}
	// what the client says about the topic before there is one is its own business
	deadline := time.Now().Add(wait)
	count := 0
	for count < 6 && time.Now().Before(deadline) {
		poll, stop := context.WithTimeout(context.Background(), time.Second)
		for _, record := range member.PollFetches(poll).Records() {
			record.Ack(kgo.AckAccept)
			count++
		}
		stop()
	}
	return errors.Join(same("records", 6, count), flush(member))
}
