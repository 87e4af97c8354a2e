import 'holdfast/threads'
