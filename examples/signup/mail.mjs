// Sends one mail by SMTP.
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/** Resolves when the server has taken the mail; `id` is its Message-ID, by which mail systems drop what comes twice. */
export async function sendMail({ port, to, id, text, signal }) {
  const socket = connect({ port, host: '127.0.0.1', signal })
  const replies = createInterface({ input: socket })[Symbol.asyncIterator]()
  const expectReply = async (code) => {
    const { value = 'nothing' } = await replies.next()
    if (!value.startsWith(code)) throw new Error(`the mail server answered ${value}`)
  }
  try {
    await once(socket, 'connect')
    await expectReply('220')
    const say = async (line, code) => {
      socket.write(`${line}\r\n`)
      await expectReply(code)
    }
    await say('EHLO signup', '250')
    await say('MAIL FROM:<hello@example.com>', '250')
    await say(`RCPT TO:<${to}>`, '250')
    await say('DATA', '354')
    await say(`Message-ID: ${id}\r\n\r\n${text}\r\n.`, '250')
    await say('QUIT', '221')
  } finally {
    socket.destroy()
  }
}
