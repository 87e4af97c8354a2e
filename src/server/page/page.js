// Asks the server every second and shows what it says. Whatever comes from data goes in as text, never as HTML.

const everyMs = 1000
const patienceMs = 10_000
const statuses = ['pending', 'processing', 'failed', 'dead', 'completed', 'scheduled', 'blocked']
const find = (id) => document.getElementById(id)

/** When what is shown stopped being true. */
let staleSince
/** Ends the pause between two questions. */
let hurry

/** Whether the form is shown: what it is for must not be swept away by the next answer. */
let asking = false
/** The exchange of a key for a session that is under way. */
let entering = takeKeyFromAddress()

addEventListener('hashchange', () => {
  entering = takeKeyFromAddress()
})
find('ask').addEventListener('submit', (event) => {
  event.preventDefault()
  const { value } = find('key')
  find('key').value = ''
  entering = enter(value)
})
find('leave').addEventListener('click', leave)
find('keep').addEventListener('click', () => {
  find('replace').hidden = true
})
run()

async function run() {
  for (;;) {
    if (document.hidden) await nextEvent(document, 'visibilitychange')
    else await refresh()
    if (!document.hidden) await pause(everyMs)
  }
}

async function refresh() {
  await entering
  if (asking) return
  const entered = entering
  try {
    const response = await fetch('status', { cache: 'no-store', signal: AbortSignal.timeout(patienceMs) })
    // Somebody else may have come in, or gone, while this answer was on its way.
    if (entering !== entered || asking) return
    if (response.status === 401) return ask('')
    const answer = await response.json()
    if (response.status === 403) return ask('That key may not see this page. ')
    if (!response.ok) return showStale(answer.detail ?? `the server answered ${response.status}`)
    show(answer)
  } catch {
    showStale('the server does not answer')
  }
}

// ── coming in and going ──

/** The address that is printed carries the key behind #, where no server sees it; it must not stay in view or in bookmarks. */
async function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get('key')
  if (!key) return
  history.replaceState(null, '', location.pathname)
  const now = await fetch('session', { cache: 'no-store', signal: AbortSignal.timeout(patienceMs) }).catch(() => undefined)
  if (now?.status === 401) return enter(key)
  // Anybody can make a link. Whoever follows it is not to work as somebody else without having been asked.
  setText(find('now'), now?.ok ? (await now.json()).service : 'somebody the server cannot name just now')
  find('change').onclick = () => {
    entering = enter(key)
  }
  find('replace').hidden = false
  find('keep').focus()
}

/** The key is exchanged for a session and kept nowhere: the session is in a cookie that no script can read. */
async function enter(key) {
  find('replace').hidden = true
  try {
    const response = await fetch('session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: key.trim() }),
      signal: AbortSignal.timeout(patienceMs),
    })
    if (response.status === 401) return ask('That key was refused. ')
    if (!response.ok) return ask(`${(await response.json()).detail}. `)
    asking = false
    hurry?.()
  } catch {
    ask('The server does not answer. ')
  }
}

async function leave() {
  try {
    await fetch('session', { method: 'DELETE', signal: AbortSignal.timeout(patienceMs) })
    ask('')
  } catch {
    showStale('the server does not answer, so the session goes on')
  }
}

function ask(problem) {
  asking = true
  staleSince = undefined
  find('board').hidden = true
  find('leave').hidden = true
  setText(find('connection'), 'Not connected')
  find('connection').dataset.state = 'waiting'
  const form = find('ask')
  if (problem) {
    setText(find('why'), `${problem}That of holdfast up is in .holdfast/admin.key, where it was started.`)
    find('why').classList.add('refused')
  }
  if (!form.hidden) return
  form.hidden = false
  find('key').focus()
}

// ── what is shown ──

function show(status) {
  staleSince = undefined
  find('ask').hidden = true
  find('board').hidden = false
  find('leave').hidden = false
  find('board').classList.remove('stale')
  document.title = 'Holdfast'
  setText(find('connection'), 'Live')
  find('connection').dataset.state = 'live'
  setText(find('version'), status.version)
  setText(find('completed-window'), `enqueued in the last ${Math.round(status.completed_within_s / 60)} min`)
  for (const name of statuses)
    setText(document.querySelector(`#counters [data-status="${name}"] .count`), counted(status.counts[name]))
  showWorker(status.worker)
  showTypes(status.types)
  showJobs(status.jobs)
}

/** What stands there stays, and is said to be old. */
function showStale(reason) {
  staleSince ??= new Date()
  find('board').classList.add('stale')
  document.title = 'Holdfast (stale)'
  const time = staleSince.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' })
  setText(find('connection'), `Stale since ${time}: ${reason}`)
  find('connection').dataset.state = 'stale'
}

function showWorker(worker) {
  const card = document.querySelector('.worker')
  card.dataset.state = !worker || worker.status === 'ok' ? 'ok' : 'trouble'
  if (!worker) return setText(find('worker'), 'none in this process')
  const running = worker.running === 1 ? '1 job runs' : `${worker.running} jobs run`
  const unwritten = worker.unwritten > 0 ? ` · ${worker.unwritten} results not yet written` : ''
  const health = worker.reason ? `${worker.status}: ${worker.reason}` : worker.status
  setText(
    find('worker'),
    `${worker.name} · ${health} · ${running}${unwritten} · database answered ${ago(worker.last_contact_ms)}`,
  )
}

function showTypes(types) {
  find('no-types').hidden = types.length > 0
  syncRows(
    find('types'),
    types,
    (one) => one.type,
    () => row(['th', 'type'], ...statuses.map((name) => ['td', 'number', name])),
    (cells, one) => {
      setText(cells[0], one.type)
      statuses.forEach((name, at) => {
        const cell = cells[at + 1]
        setText(cell, counted(one[name]))
        cell.classList.toggle('none', one[name].count === 0)
        cell.classList.toggle('some', one[name].count > 0)
      })
    },
  )
}

function showJobs(jobs) {
  find('no-jobs').hidden = jobs.length > 0
  syncRows(
    find('jobs'),
    jobs,
    (job) => job.id,
    makeJobRow,
    (cells, job) => {
      const [status, what, attempt, age, id] = cells
      status.dataset.status = job.status
      setText(status.firstChild, job.status)
      setText(what.firstChild, job.type)
      showError(what.lastChild, job)
      setText(attempt, `${job.attempt} of ${job.max_attempts}`)
      setText(age, forHowLong(job.age_ms))
      setText(id, job.id)
    },
  )
}

/** A job that failed once and runs or is done now is told apart from one that stands there failed. */
function showError(node, { status, error }) {
  const stands = status === 'failed' || status === 'dead'
  node.hidden = !error
  node.title = error ?? ''
  if (stands) node.dataset.status = status
  else delete node.dataset.status
  setText(node, error ? `${stands ? '' : 'earlier: '}${error}` : '')
}

function makeJobRow() {
  const made = row(['td', ''], ['td', ''], ['td', 'number'], ['td', 'number'], ['td', 'id'])
  made.cells[0].append(element('span', 'status'))
  made.cells[1].append(element('span', 'type'), element('span', 'error'))
  return made
}

// ── rows, texts, times ──

/** Keeps the row of each thing and changes only what changed in it, so that a selection survives the next second. */
function syncRows(body, things, keyOf, make, fill) {
  const rows = new Map([...body.rows].map((one) => [one.key, one]))
  let at = body.firstElementChild
  for (const thing of things) {
    const key = keyOf(thing)
    let one = rows.get(key)
    rows.delete(key)
    if (!one) {
      one = make()
      one.key = key
    }
    if (one === at) at = at.nextElementSibling
    else body.insertBefore(one, at)
    fill(one.cells, thing)
  }
  for (const left of rows.values()) left.remove()
}

function row(...cells) {
  const made = document.createElement('tr')
  for (const [tag, classes, status] of cells) {
    const cell = element(tag, classes)
    if (tag === 'th') cell.scope = 'row'
    if (status) cell.dataset.status = status
    made.append(cell)
  }
  return made
}

function element(tag, classes) {
  const made = document.createElement(tag)
  made.className = classes
  return made
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

function counted({ count, more }) {
  return `${more ? '≥ ' : ''}${count.toLocaleString('en')}`
}

function ago(ms) {
  return ms < 1000 ? 'just now' : `${forHowLong(ms)} ago`
}

function forHowLong(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

// ── waiting ──

function pause(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    hurry = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

function nextEvent(target, name) {
  return new Promise((resolve) => target.addEventListener(name, resolve, { once: true }))
}
