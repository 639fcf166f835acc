"""The load side: paced senders under Locust, the recorder behind the event log, the processes around them."""
