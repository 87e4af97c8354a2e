// Every operation that is swept. A new one is one object in one of these lists:
//   name       its place in the names of the cases
//   watch      which messages are its own: everything, or the call of one statement
//   prepare    what must be there before, done on a direct connection
//   perform    does it, through the proxy; must come to an end whatever breaks
//   settle     what a person would do afterwards, on a direct connection
//   verify     facts beyond the invariants, as violations that name theirs
//   armsItself perform calls arm() when its moment has come
//   empty      begins without a schema
import { composing } from './composing.mjs'
import { keeping } from './keeping.mjs'
import { operating } from './operating.mjs'
import { producing } from './producing.mjs'
import { steeringComposed } from './steering-composed.mjs'
import { stepping } from './stepping.mjs'
import { unique } from './unique.mjs'
import { working } from './working.mjs'

export const operations = [
  ...producing,
  ...unique,
  ...working,
  ...stepping,
  ...composing,
  ...steeringComposed,
  ...operating,
  ...keeping,
]
