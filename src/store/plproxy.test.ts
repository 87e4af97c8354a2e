import { expect, test } from 'vitest'
import { routerScript } from './plproxy.js'

const placeIn = (connectionString: string) =>
  /options \(p0 '(.*)'\);/.exec(routerScript([{ name: 'eu', connectionString }], 'holdfast'))?.[1]

test('what an address asks of TLS counts for PL/Proxy too', () => {
  const address = 'postgres://app:secret@eu.internal/app?sslmode=verify-full&sslrootcert=/etc/ca.pem&application_name=x'
  expect(placeIn(address)).toBe('dbname=app host=eu.internal port=5432 sslmode=verify-full sslrootcert=/etc/ca.pem')
})

test('no name of a database adds to the address of the one before it, or to the script', () => {
  expect(placeIn('postgres://[::1]:6000/a%20host=evil%27b%5C')).toBe("dbname=''a host=evil\\''b\\\\'' host=::1 port=6000")
})
