import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Networks that are not part of the public internet, or from which something inside a private network answers. */
const closed = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carriers' own, and the metadata of one cloud
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // a cloud's own services, at an address that looks public
  ['169.254.0.0', 16], // link-local, and the metadata of most clouds
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  closed.addSubnet(network, bits, 'ipv4')
}
// Tunnel addresses contain an IPv4 address that would not be checked.
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  closed.addSubnet(network, bits, 'ipv6')
}
const open = new BlockList()
open.addSubnet('2000::', 3, 'ipv6')

/** Whether an address belongs to the public internet. For IPv6 only global unicast: no mapped IPv4, no private, no local addresses. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4')
  const [bare = ''] = address.split('%')
  return isIPv6(bare) && open.check(bare, 'ipv6') && !closed.check(bare, 'ipv6')
}
