import { Copy } from './copy.js'
import { Card } from './page.js'

/** A secret that the server shows once. It stays on the page until the reader puts it away. */
export function Secret({ title, secret, close }: { title: string; secret: string; close: () => void }) {
  return (
    <Card
      title={title}
      aside={
        <button type="button" onClick={close}>
          I have it
        </button>
      }
    >
      <p className="foot">
        <code className="secret">{secret}</code> <Copy text={secret} label="Copy the secret" />
      </p>
      <p className="foot soft">It is shown here once and kept nowhere: the database has only its hash.</p>
    </Card>
  )
}
